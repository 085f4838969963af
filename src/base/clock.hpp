// Elapsed time for reports and progress, processor time for measurements.
#pragma once

#include <chrono>
#include <ctime>

namespace lacuna {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Reads CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID or CLOCK_MONOTONIC.
inline double clock_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace lacuna
