#include "base/core_wait.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace lacuna {

double seconds_waited_for_cores(pid_t process) {
  const std::string tasks =
      "/proc/" + (process == 0 ? std::string("self") : std::to_string(process)) + "/task";
  double seconds = 0;
  std::error_code failed;
  std::filesystem::directory_iterator thread(tasks, failed);
  for (; !failed && thread != std::filesystem::directory_iterator(); thread.increment(failed)) {
    std::int64_t ran = 0, waited = 0;  // nanoseconds
    std::ifstream file(thread->path() / "schedstat");
    if (file >> ran >> waited) seconds += 1e-9 * static_cast<double>(waited);
  }
  return seconds;
}

}  // namespace lacuna
