#include "cli/terminal/stop_signal.hpp"

#include <atomic>
#include <csignal>

#include "base/io/output_file.hpp"

namespace lacuna::cli {
namespace {

// The registers that the kernel saves are 11 KB with AMX.
constexpr std::size_t kStackBytes = 256 * 1024;

std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // a handler may touch nothing else

// The signal comes again without a handler, when this one returns.
extern "C" void end_by_signal(int signal) {
  remove_partial_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

extern "C" void remember_signal(int signal) {
  int none = 0;
  received.compare_exchange_strong(none, signal);
  std::signal(SIGINT, end_by_signal);
  std::signal(SIGTERM, end_by_signal);
}

}  // namespace

StopOnSignal::StopOnSignal() : stack_(kStackBytes) {
  stack_t stack{};
  stack.ss_sp = stack_.data();
  stack.ss_size = stack_.size();
  sigaltstack(&stack, &stack_before_);
  struct sigaction remember {};
  remember.sa_handler = remember_signal;
  remember.sa_flags = SA_ONSTACK | SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &remember, &before_[i]);
    if (kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) sigaction(SIGHUP, &before_[i], nullptr);
  }
}

StopOnSignal::~StopOnSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  sigaltstack(&stack_before_, nullptr);
}

void leave_nothing_behind_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
      std::signal(signal, end_by_signal);
  }
}

int stop_signal() { return received; }

}  // namespace lacuna::cli
