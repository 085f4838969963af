// A slow input is a failure like a crash: more processor time than a file of that size can need.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace lacuna {

class TimeLimit {
 public:
  // Sanitized code takes some ten times as long as released code.
  static constexpr double kSeconds = 2;

  TimeLimit() = default;
  ~TimeLimit() {
    const double seconds = now() - begin_;
    if (seconds <= kSeconds) return;
    std::fprintf(stderr, "this input took %.1f s of processor time, more than %.1f\n", seconds, kSeconds);
    std::abort();
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  // Not the time on the wall: the machine may be busy with other things.
  static double now() {
    std::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double begin_ = now();
};

}  // namespace lacuna
