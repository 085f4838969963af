#include "dataset/readers/file_bytes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <system_error>

#include "base/error.hpp"
#include "base/io/input_files.hpp"
#include "base/memory.hpp"
#include "base/text/quote.hpp"

namespace lacuna::dataset {
namespace {

namespace fs = std::filesystem;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void fail(const fs::path& path, const char* action, int reason) {
  if (reason == ENOENT) throw InputError(shown(path), "there is no such file or folder", "check the path");
  throw InputError(shown(path), fmt::format("{}: {}", action, std::strerror(reason)),
                   "check the path and its permissions");
}

}  // namespace

std::string shown(const fs::path& path) { return escape_controls(path.string()); }

Bytes read_bytes(const fs::path& path, std::uint64_t most) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail(path, "cannot open", error ? error.value() : ENOENT);
  // A pipe may never end, and a folder has no bytes.
  if (!fs::is_regular_file(status)) throw InputError(shown(path), "this is not a file", "check the path");
  const std::uint64_t size = fs::file_size(path, error);
  if (error) fail(path, "cannot read", error.value());
  if (size > most) {
    throw InputError(shown(path), fmt::format("the file holds {} bytes, more than {}", size, most),
                     "check that it is the file you mean");
  }
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) fail(path, "cannot open", errno);
  add_input_file(::fileno(file.get()));
  const MemoryClaim claim(static_cast<double>(size), shown(path), "reading the file");
  Bytes bytes(size);
  const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file.get());
  if (got < bytes.size() && std::ferror(file.get()) != 0) fail(path, "cannot read", errno);
  bytes.resize(got);  // shorter if it was truncated meanwhile; the parsers notice
  return bytes;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator at(folder, error);
  if (error) fail(folder, "cannot read the folder", error.value());
  for (const fs::directory_iterator end; at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.front() != '.') names.push_back(std::move(name));
  }
  if (error) fail(folder, "cannot read the folder", error.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> read_names(const fs::path& path, std::size_t count) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  std::vector<std::string> names{""};
  for (const std::uint8_t byte : read_bytes(path, kMostBytes)) {
    if (byte == '\n') {
      names.emplace_back();
    } else if (byte != '\r') {
      names.back() += static_cast<char>(byte);
    }
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  const bool blank = std::any_of(names.begin(), names.end(), [](const auto& name) { return name.empty(); });
  if (names.size() != count || blank) {
    throw InputError(shown(path), fmt::format("the file should hold {} names, one per line", count),
                     "get it again, or remove it to number the classes");
  }
  return names;
}

std::vector<std::string> numbered_classes(int count) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace lacuna::dataset
