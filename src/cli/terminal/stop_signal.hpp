// Requests to stop (Ctrl-C, SIGTERM, a lost terminal, a closed pipe) as a question that a long run asks
// itself.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <vector>

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
  std::array<struct sigaction, kSignals.size()> before_{};
  // Stack of the handlers, on the thread that made this object, which is the one that signals to the process
  // reach. On the thread's own stack they destroy what oneDNN 2.6.3 keeps below its end: a third of the runs
  // that were stopped inside one of its matrix products ended with a damaged heap.
  std::vector<std::byte> stack_;
  stack_t stack_before_{};
};

// From now on signals that end the program first remove the files that it was writing. Ignored ones stay so.
void leave_nothing_behind_on_signals();

// The signal that has come, or 0.
int stop_signal();

}  // namespace lacuna::cli
