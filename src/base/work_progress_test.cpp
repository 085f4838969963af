#include "base/work_progress.hpp"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/parallel.hpp"

namespace lacuna {
namespace {

struct Watched {
  std::vector<double> seen;
  std::function<void(double)> progress = [this](double share) { seen.push_back(share); };
  std::function<bool()> stop;
  WorkMeter meter{progress, stop};

  double last() const { return seen.empty() ? 0 : seen.back(); }
};

TEST(WorkProgress, LoopsWithoutAMeterRunAsTheyAre) {
  std::int64_t sum = 0;
  for (const std::int64_t i : in_steps(5)) sum += i;
  const std::vector<int> values = {1, 2, 3};
  for (const int value : in_steps(values)) sum += value;
  for (const std::int64_t i : in_steps(0)) sum += 1000 + i;
  EXPECT_EQ(sum, 16);
  EXPECT_EQ(WorkPart::current(), nullptr);
}

TEST(WorkProgress, NestedLoopsDivideWhatTheyArePartOf) {
  Watched watched;
  {
    const WorkPart part(watched.meter, 0.5);
    for (const std::int64_t i : in_steps(2)) {
      for (const std::int64_t j : in_steps(4)) {
        (void)j;
        EXPECT_LE(watched.last(), 0.5 * static_cast<double>(i + 1) / 2);
      }
      parallel_for(3, 1, [](std::size_t) {});  // nothing is left for it
      EXPECT_NEAR(watched.last(), 0.25 * static_cast<double>(i) + 0.25 * 3 / 4, 0.07);
    }
  }
  EXPECT_NEAR(watched.last(), 0.5, 1e-9);
  EXPECT_GE(watched.seen.size(), 7u);
  EXPECT_TRUE(std::ranges::is_sorted(watched.seen));
  {
    const WorkPart rest(watched.meter, 0.5);
    { const WorkPart half(0.5); }
    EXPECT_NEAR(watched.last(), 0.75, 1e-9);
    for (const std::int64_t i : in_steps(10)) {
      if (i == 1) break;  // what is left undone belongs to the part
    }
  }
  EXPECT_NEAR(watched.last(), 1, 1e-9);
  EXPECT_EQ(WorkPart::current(), nullptr);
}

TEST(WorkProgress, ThreadsCreditTheSame) {
  for (const std::size_t count : {1, 7, 5000}) {
    Watched watched;
    with_threads(3, [&] {
      parallel_for(4, 1, [&](std::size_t) {
        const WorkPart part(watched.meter, 0.25);
        parallel_for(count, 1, [&](std::size_t) {
          for (const std::int64_t step : in_steps(2)) (void)step;
        });
      });
    });
    EXPECT_NEAR(watched.last(), 1, 0.01) << count;
    watched.meter.finish();
    EXPECT_EQ(watched.last(), 1);
    EXPECT_TRUE(std::ranges::is_sorted(watched.seen));
  }
}

TEST(WorkProgress, AStopEndsEveryLoopAndCreditsNothing) {
  Watched watched;
  std::atomic<int> asked = 0;
  watched.stop = [&] { return ++asked > 3; };
  const auto loop = [&] {
    const WorkPart part(watched.meter, 1);
    for (const std::int64_t i : in_steps(10)) (void)i;
  };
  EXPECT_THROW(loop(), Stopped);
  EXPECT_NEAR(watched.last(), 0.4, 1e-9);  // the step that had just ended is done
  EXPECT_EQ(WorkPart::current(), nullptr);
  std::atomic<int> run = 0;
  EXPECT_THROW(with_threads(2,
                            [&] {
                              const WorkPart part(watched.meter, 1);
                              parallel_for(1000, 1, [&](std::size_t) { ++run; });
                            }),
               Stopped);
  EXPECT_EQ(run, 0);
}

// A caller may end the computation with its own exception.
TEST(WorkProgress, WhatTheCallbackThrowsEndsIt) {
  const std::function<void(double)> progress = [](double share) {
    if (share > 0.25) throw std::runtime_error("enough");
  };
  const std::function<bool()> stop;
  for (const int threads : {1, 3}) {
    WorkMeter meter(progress, stop);
    std::atomic<int> run = 0;
    EXPECT_THROW(with_threads(threads,
                              [&] {
                                const WorkPart part(meter, 1);
                                parallel_for(1000, 1, [&](std::size_t) {
                                  ++run;
                                  // Throwing takes a while, in which other threads go on.
                                  std::this_thread::sleep_for(std::chrono::microseconds(300));
                                });
                              }),
                 std::runtime_error);
    EXPECT_LT(run, 900);
    EXPECT_THROW(meter.finish(), std::runtime_error);
  }
}

}  // namespace
}  // namespace lacuna
