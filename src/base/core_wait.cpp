#include "base/core_wait.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace lacuna {
namespace {

// Seconds in which any core was not idle.
double busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  std::int64_t user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0, stolen = 0;
  if (!(file >> name >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq >> stolen)) return 0;
  return static_cast<double>(user + nice + system + irq + soft_irq + stolen) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

CoreTimes core_times(pid_t process) {
  const std::string tasks =
      "/proc/" + (process == 0 ? std::string("self") : std::to_string(process)) + "/task";
  CoreTimes times;
  times.others = busy_seconds();
  std::error_code failed;
  std::filesystem::directory_iterator thread(tasks, failed);
  for (; !failed && thread != std::filesystem::directory_iterator(); thread.increment(failed)) {
    std::int64_t ran = 0, waited = 0;  // nanoseconds
    std::ifstream file(thread->path() / "schedstat");
    if (!(file >> ran >> waited)) continue;
    times.waited += 1e-9 * static_cast<double>(waited);
    times.others -= 1e-9 * static_cast<double>(ran);
  }
  return times;
}

double lost_to_others(const CoreTimes& before, const CoreTimes& after) {
  return std::max(0.0, std::min(after.waited - before.waited, after.others - before.others));
}

}  // namespace lacuna
