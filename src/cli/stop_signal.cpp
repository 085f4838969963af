#include "cli/stop_signal.hpp"

#include <atomic>
#include <csignal>

namespace lacuna::cli {
namespace {

std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // a handler may touch nothing else

extern "C" void remember_signal(int signal) {
  received = signal;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

StopOnSignal::StopOnSignal()
    : interrupt_(std::signal(SIGINT, remember_signal)), terminate_(std::signal(SIGTERM, remember_signal)) {}

StopOnSignal::~StopOnSignal() {
  std::signal(SIGINT, interrupt_);
  std::signal(SIGTERM, terminate_);
}

int stop_signal() { return received; }

}  // namespace lacuna::cli
