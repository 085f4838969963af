// Where a fuzzer whose reader takes files writes them: in memory if that is possible, since each run writes
// some.
#pragma once

#include <filesystem>

namespace lacuna {

inline std::filesystem::path folder_in_memory() {
  return std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
}

}  // namespace lacuna
