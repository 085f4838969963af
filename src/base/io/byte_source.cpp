#include "base/io/byte_source.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/input_files.hpp"
#include "base/memory.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

std::atomic<bool> maps_files = false;

class OwnedBytes final : public ByteSource {
 public:
  explicit OwnedBytes(std::vector<std::uint8_t> bytes, MemoryClaim claim = {})
      : claim_(std::move(claim)), bytes_(std::move(bytes)) {}
  std::span<const std::uint8_t> bytes() const override { return bytes_; }

 private:
  MemoryClaim claim_;
  std::vector<std::uint8_t> bytes_;
};

class MappedBytes final : public ByteSource {
 public:
  MappedBytes(void* address, const std::filesystem::path& path, const struct stat& status)
      : address_(address), size_(static_cast<std::size_t>(status.st_size)), watch_(path, status) {}
  ~MappedBytes() override { ::munmap(address_, size_); }
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;
  std::span<const std::uint8_t> bytes() const override {
    return {static_cast<const std::uint8_t*>(address_), size_};
  }

 private:
  void* address_;
  std::size_t size_;
  InputWatch watch_;
};

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

[[noreturn]] void fail(const std::string& where, std::string_view action, int reason) {
  throw InputError(where, fmt::format("{}: {}", action, std::strerror(reason)),
                   "check the path and its permissions");
}

// For a name that does not exist, suggests the nearest one in its folder.
[[noreturn]] void fail_to_open(const std::filesystem::path& path, int reason) {
  if (reason == ENOENT) {
    std::vector<std::string> names;
    std::error_code error;
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    for (std::filesystem::directory_iterator at(folder, error), end;
         !error && at != end && names.size() < 1000; at.increment(error)) {
      names.push_back(at->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    const std::string near = nearest_name(path.filename().string(), names);
    if (!near.empty()) {
      throw InputError(path.string(), "there is no such file", "did you mean " + quote_name(near) + "?");
    }
    throw InputError(path.string(), "there is no such file", "check the path");
  }
  fail(path.string(), "cannot open", reason);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// A regular file that is not or cannot be mapped (some file systems cannot): never more than its size.
std::unique_ptr<ByteSource> read_file(int descriptor, std::uint64_t size, const std::string& where) {
  MemoryClaim claim(static_cast<double>(size), where, "reading the file");
  std::vector<std::uint8_t> bytes(size);
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(descriptor, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(where, "cannot read", errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return std::make_unique<OwnedBytes>(std::move(bytes), std::move(claim));
}

}  // namespace

std::unique_ptr<ByteSource> ByteSource::own(std::vector<std::uint8_t> bytes) {
  return std::make_unique<OwnedBytes>(std::move(bytes));
}

void ByteSource::map_files() { maps_files = true; }

std::unique_ptr<ByteSource> ByteSource::open(const std::filesystem::path& path) {
  const std::string where = path.string();
  // Opening a pipe would wait for its writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) fail_to_open(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(where, "cannot open", errno);
  if (!S_ISREG(status.st_mode)) {
    throw InputError(where, fmt::format("this is {}, not a file", kind_of(status.st_mode)),
                     "write its content to a file and give that");
  }
  add_input_file(file.get());
  // Files of /proc have no size and may never end: they count as empty.
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return own({});
  void* address = maps_files ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0) : MAP_FAILED;
  if (address != MAP_FAILED) return std::make_unique<MappedBytes>(address, path, status);
  return read_file(file.get(), size, where);
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t most) {
  return std::string(ByteSource::open(path)->text().substr(0, most));
}

}  // namespace lacuna
