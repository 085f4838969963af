// Requests to stop (Ctrl-C, SIGTERM, a lost terminal, a closed pipe) as a question that a long run asks
// itself.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>

namespace lacuna::cli {

// While it lives, the first of these signals is only remembered. A second SIGINT or SIGTERM ends the program.
// A second SIGHUP or SIGPIPE does not: a terminal that closes sends SIGHUP more than once (its shell does
// too), and SIGPIPE comes again with the next line that is written. SIGUSR1 is what batch systems send before
// the time of a job is over, and what mpirun hands on. SIGHUP stays ignored under nohup.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  static constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1};
  std::array<void (*)(int), kSignals.size()> before_{};
};

// The signal that has come, or 0.
int stop_signal();

}  // namespace lacuna::cli
