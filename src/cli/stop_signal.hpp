// Ctrl-C (or SIGTERM) as a question that a long run asks itself.
#pragma once

namespace lacuna::cli {

// While it lives the first signal is only remembered, and the second ends the program.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  void (*interrupt_)(int);
  void (*terminate_)(int);
};

// The signal that has come, or 0.
int stop_signal();

}  // namespace lacuna::cli
