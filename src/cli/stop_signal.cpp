#include "cli/stop_signal.hpp"

#include <atomic>

namespace lacuna::cli {
namespace {

std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // a handler may touch nothing else

extern "C" void remember_signal(int signal) {
  int none = 0;
  received.compare_exchange_strong(none, signal);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

StopOnSignal::StopOnSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    before_[i] = std::signal(kSignals[i], remember_signal);
    if (kSignals[i] == SIGHUP && before_[i] == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  }
}

StopOnSignal::~StopOnSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) std::signal(kSignals[i], before_[i]);
}

int stop_signal() { return received; }

}  // namespace lacuna::cli
