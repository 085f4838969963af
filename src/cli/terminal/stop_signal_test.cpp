#include "cli/terminal/stop_signal.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lacuna::cli {
namespace {

// Sanitizers call functions, whose frames lie there.
#if defined(__has_feature)
#define LACUNA_SANITIZED __has_feature(address_sanitizer)
#else
#define LACUNA_SANITIZED 0
#endif

#if defined(__x86_64__) && !LACUNA_SANITIZED
// Writes below the end of the stack, as code that was generated for one CPU may, sends a signal without
// touching the stack, and counts what is still there.
__attribute__((noinline)) int left_below_the_stack(int signal) {
  constexpr int kFrom = 512, kBytes = 4096;  // beyond the 128 bytes that belong to every function
  char* end = nullptr;
  __asm__ volatile("mov %%rsp, %0" : "=r"(end));
  volatile char* below = end - kFrom - kBytes;
  const long process = getpid();
  for (int i = 0; i < kBytes; ++i) below[i] = 'x';
  long status = SYS_kill;
  __asm__ volatile("syscall" : "+a"(status) : "D"(process), "S"(signal) : "rcx", "r11", "memory");
  int left = 0;
  for (int i = 0; i < kBytes; ++i) left += below[i] == 'x' ? 1 : 0;
  return status == 0 ? left : -1;
}

TEST(StopOnSignal, LeavesWhatIsBelowTheStackAlone) {
  const StopOnSignal stop;
  EXPECT_EQ(stop_signal(), 0);
  EXPECT_EQ(left_below_the_stack(SIGUSR1), 4096);
  EXPECT_EQ(stop_signal(), SIGUSR1);
}
#endif

}  // namespace
}  // namespace lacuna::cli
