// A folder for a fuzzer whose reader takes files: in memory where that is possible, since each run writes
// some.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace lacuna {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name =
        std::filesystem::exists("/dev/shm") ? "/dev/shm/lacuna-fuzz-XXXXXX" : "/tmp/lacuna-fuzz-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lacuna
