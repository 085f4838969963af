// Elapsed time, for reports and progress.
#pragma once

#include <chrono>

namespace lacuna {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lacuna
