// Runs the launches of an operation on a verilated td_layer and compares everything that comes out.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>

#include "layer_tile_driver.hpp"

namespace lacuna::rtl {

// Cycles of an operation by what the tile did.
struct LayerCycles {
  std::int64_t all = 0, issued = 0, wait_operands = 0, wait_results = 0;
};

template <typename Driver>
void check_result(Driver& driver, const MemoryImage& want) {
  const std::vector<std::uint32_t> got = driver.read_result(want.keep.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (((want.keep[i / 16] >> (i % 16)) & 1) == 0) continue;
    ASSERT_EQ(std::bit_cast<float>(got[i]), want.values[i]) << "block " << i / 16 << " lane " << i % 16;
  }
}

template <typename Driver>
void run_launch(Driver& driver, const LayerLaunch& launch, std::int64_t most_cycles, LayerCycles& sum) {
  using Register = LayerRegister;
  driver.configure(launch.registers);
  driver.load(false, launch.am);
  driver.load(true, launch.bm);
  ASSERT_EQ(driver.read(Register::kBmZeros), launch.bm.zeros());
  ASSERT_EQ(driver.read(Register::kBmValues), launch.bm.elements());
  ASSERT_EQ(driver.read(Register::kAmZeros), launch.am.zeros());
  driver.start();
  ASSERT_TRUE(driver.wait(most_cycles)) << "the operation does not end";
  ASSERT_EQ(driver.read(Register::kStatus), Register::kDone);
  sum.all += driver.read(Register::kCycles);
  sum.issued += driver.read(Register::kIssued);
  sum.wait_operands += driver.read(Register::kWaitOperands);
  sum.wait_results += driver.read(Register::kWaitResults);
  check_result(driver, launch.result);
  EXPECT_EQ(driver.read(Register::kCmValues), launch.result.elements()) << "every result is written once";
  EXPECT_EQ(driver.read(Register::kCmZeros), launch.result.zeros());
}

// Returns the cycles of all launches.
template <typename Driver>
LayerCycles check_run(Driver& driver, const LayerRun& run) {
  SCOPED_TRACE(run.name);
  LayerCycles sum;
  for (const LayerLaunch& launch : run.launches) {
    // A tile that waits ten times as long as it works hangs.
    run_launch(driver, launch, 10'000 + 10 * run.dense_cycles, sum);
    if (::testing::Test::HasFailure()) return sum;
  }
  EXPECT_EQ(sum.issued, run.cycles) << "cycles of both engines";
  return sum;
}

}  // namespace lacuna::rtl
