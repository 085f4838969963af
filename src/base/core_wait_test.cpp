#include "base/core_wait.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/clock.hpp"

namespace lacuna {
namespace {

TEST(CoreWait, ThreadsThatWaitForEachOtherHaveLostNothing) {
  EXPECT_EQ(lost_to_others({1, 10}, {4, 10}), 0);
  EXPECT_EQ(lost_to_others({1, 10}, {4, 12}), 2);   // of three seconds of waiting, others used a core for two
  EXPECT_EQ(lost_to_others({1, 10}, {4, 110}), 3);  // others on cores that this process did not want
  EXPECT_EQ(lost_to_others({4, 10}, {1, 12}), 0);   // threads have ended, and their times are gone
}

// More threads than cores: what they use themselves is not counted as that of others.
TEST(CoreWait, OwnThreadsAreNotOthers) {
  const auto cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  const CoreTimes before = core_times(0);
  const double cpu = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2 * static_cast<int>(cores); ++i)
    threads.emplace_back([&] {
      while (elapsed() < 0.3) {
      }
    });
  while (elapsed() < 0.25) {
  }
  const CoreTimes after = core_times(0);
  const double used = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  EXPECT_GT(used, 0);
  // All of it fits the cores only if neither part contains the other.
  EXPECT_LE(used + after.others - before.others, 1.2 * cores * elapsed() + 0.1);
}

}  // namespace
}  // namespace lacuna
