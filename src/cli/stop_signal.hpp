// Requests to stop (Ctrl-C, SIGTERM, a lost terminal, a closed pipe) as a question that a long run asks
// itself.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>

namespace lacuna::cli {

// While it lives, the first of these signals is only remembered. A second SIGINT or SIGTERM ends the program.
// A second SIGHUP or SIGPIPE does not: a terminal that closes sends SIGHUP more than once (its shell does
// too), and SIGPIPE comes again with the next line that is written. SIGHUP stays ignored under nohup.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  static constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  std::array<void (*)(int), kSignals.size()> before_{};
};

// The signal that has come, or 0.
int stop_signal();

}  // namespace lacuna::cli
