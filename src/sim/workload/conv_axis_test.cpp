#include "sim/workload/conv_axis.hpp"

#include <gtest/gtest.h>
#include <numeric>

#include "base/random.hpp"

namespace lacuna {
namespace {

using Counts = std::vector<std::int64_t>;

std::int64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

TEST(ConvAxis, EqualsEnumeration) {
  int empty = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ConvAxis axis{.in = random.integer(1, 30),
                  .out = 0,
                  .kernel = random.integer(1, 14),
                  .stride = random.integer(1, 9),
                  .padding = random.integer(0, 40),
                  .dilation = random.integer(1, 9)};
    const std::int64_t room = axis.in + 2 * axis.padding - axis.dilation * (axis.kernel - 1) - 1;
    if (room < 0) continue;
    axis.out = room / axis.stride + 1;

    Counts by_input(static_cast<std::size_t>(axis.in)), by_output(static_cast<std::size_t>(axis.out)),
        by_tap(static_cast<std::size_t>(axis.kernel));
    std::int64_t phase_pairs = 0;
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const ConvAxis::Range outputs = axis.outputs_of(tap);
      for (std::int64_t output = 0; output < axis.out; ++output) {
        const std::int64_t at = axis.source(output, tap);
        const bool inside = at >= 0 && at < axis.in;
        EXPECT_EQ(inside, output >= outputs.first && output < outputs.last) << output << " " << tap;
        const ConvAxis::Range taps = axis.taps_of(output);
        EXPECT_EQ(inside, tap >= taps.first && tap < taps.last) << output << " " << tap;
        if (!inside) continue;
        ++by_input[static_cast<std::size_t>(at)];
        ++by_output[static_cast<std::size_t>(output)];
        ++by_tap[static_cast<std::size_t>(tap)];
      }
      std::int64_t positions = 0;
      for (std::int64_t at = 0; at < axis.in; ++at)
        positions += (at + axis.padding - tap * axis.dilation) % axis.stride == 0;
      EXPECT_EQ(axis.phase_positions(tap), positions) << tap;
      phase_pairs += positions;
    }
    EXPECT_EQ(axis.pairs_by_input(), by_input);
    EXPECT_EQ(axis.pairs_by_output(), by_output);
    EXPECT_EQ(axis.pairs_by_tap(), by_tap);
    EXPECT_EQ(axis.pairs(), sum(by_input));
    EXPECT_EQ(axis.phase_pairs(), phase_pairs);
    empty += by_input[0] == 0;
  }
  EXPECT_GT(empty, 100);  // positions that nobody reads are among them
}

TEST(RunningSums, EqualPlainSums) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Size2 plane{random.integer(1, 9), random.integer(1, 9)};
    const Size2 step{random.integer(1, 4), random.integer(1, 4)};
    Counts values(static_cast<std::size_t>(plane.h * plane.w));
    for (std::int64_t& value : values) value = random.integer(0, 100);
    RunningSums sums(plane, step);
    std::copy(values.begin(), values.end(), sums.values());
    sums.close();
    const Size2 first{random.integer(0, plane.h - 1), random.integer(0, plane.w - 1)};
    const Size2 last{first.h + random.integer(0, (plane.h - 1 - first.h) / step.h) * step.h,
                     first.w + random.integer(0, (plane.w - 1 - first.w) / step.w) * step.w};
    std::int64_t expected = 0;
    for (std::int64_t y = first.h; y <= last.h; y += step.h)
      for (std::int64_t x = first.w; x <= last.w; x += step.w)
        expected += values[static_cast<std::size_t>(y * plane.w + x)];
    EXPECT_EQ(sums.window(first, last), expected);
  }
}

}  // namespace
}  // namespace lacuna
