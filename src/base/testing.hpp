// Shared by tests: temporary files, the message of an expected error, and how many random cases to draw.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace lacuna {

// The message of the InputError that `action` throws, which must be one line.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  return "no error";
}

// `cases`, or one in LACUNA_FEWER_CASES of them: sanitizers take ten times as long and find the same in
// fewer.
inline std::uint64_t random_cases(std::uint64_t cases) {
  const char* fewer = std::getenv("LACUNA_FEWER_CASES");
  const std::uint64_t divisor = fewer == nullptr ? 1 : std::stoull(fewer);
  return divisor > 1 && cases > divisor ? cases / divisor : cases;
}

// Whether this is such a run, where limits on time must be wider.
inline bool runs_sanitized() { return std::getenv("LACUNA_FEWER_CASES") != nullptr; }

inline std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// A temporary folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lacuna-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder in " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  std::filesystem::path write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return path_ / name;
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }  // for command lines
  std::size_t files() const { return names().size(); }
  std::vector<std::string> names() const {  // sorted
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace lacuna
