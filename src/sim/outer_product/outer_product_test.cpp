#include <gtest/gtest.h>

#include "sim/outer_product/area.hpp"
#include "sim/outer_product/index_map.hpp"
#include "sim/outer_product/mask_bits.hpp"
#include "sim/outer_product/schedule.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::outer {
namespace {

TEST(IndexMap, DivisionRoundsLikeMathematics) {
  for (std::int64_t a = -20; a <= 20; ++a) {
    for (std::int64_t b = 1; b <= 5; ++b) {
      EXPECT_LE(floor_div(a, b) * b, a);
      EXPECT_GT((floor_div(a, b) + 1) * b, a);
      EXPECT_GE(ceil_div(a, b) * b, a);
      EXPECT_LT((ceil_div(a, b) - 1) * b, a);
    }
  }
}

// Every useful product's kernel position lies in the range of its image position, and a range is as tight as
// an interval without divisibility can be: its ends give an output coordinate inside [0, outputs).
TEST(IndexMap, RangesHoldAllUsefulProductsAndNoMore) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const LayerShape shape = lacuna::testing::random_shape(random);
    for (const Operation op : kOperations) {
      const IndexMap map = IndexMap::convolution(shape, op);
      for (const AxisMap& axis : {map.y, map.x}) {
        for (std::int64_t t = 0; t < axis.image; ++t) {
          for (std::int64_t r = 0; r < axis.kernel; ++r) {
            const std::int64_t u = axis.image_step * t + axis.offset - axis.kernel_step * r;
            const bool inside = u >= 0 && u <= axis.output_step * (axis.outputs - 1);
            EXPECT_EQ(inside, r >= axis.first_kernel(t) && r <= axis.last_kernel(t));
            const std::int64_t o = axis.output(t, r);
            if (o < 0) continue;
            EXPECT_TRUE(inside);
            const AxisMap::Span reach = axis.reach(t, t);
            EXPECT_TRUE(o >= reach.low && o <= reach.high);
          }
        }
      }
    }
  }
}

TEST(MaskBits, VisitsExactlyTheBitsOfTheRange) {
  Random random(5);
  std::vector<std::uint8_t> row(25);
  for (std::uint8_t& byte : row) byte = static_cast<std::uint8_t>(random.bits());
  for (std::int64_t first = 0; first < 200; first += 7) {
    for (std::int64_t end = first + 1; end <= 200; end += 5) {
      std::vector<std::int64_t> seen, expected;
      for_each_bit(row.data(), first, end, [&](std::int64_t c) { seen.push_back(c); });
      for (std::int64_t c = first; c < end; ++c) {
        if ((row[static_cast<std::size_t>(c / 8)] >> (c % 8)) & 1) expected.push_back(c - first);
      }
      ASSERT_EQ(seen, expected) << first << ".." << end;
    }
  }
}

TEST(Schedule, PhasesAddTheirLongestPe) {
  Schedule schedule(4, 5, false);
  schedule.open(2);
  schedule.add(0, 0, 10);
  schedule.add(0, 1, 4);
  schedule.add(0, 1, 3);
  schedule.add(1, 2, 6);
  schedule.close();
  const ScheduleResult result = schedule.finish();
  EXPECT_EQ(result.cycles, 10 + 6 + 5);
  EXPECT_EQ(result.busy, 23);
  EXPECT_EQ(result.fill, 20);
  EXPECT_EQ(result.imbalance, 3);
  EXPECT_EQ(result.idle_pe, 10 * 2 + 6 * 3);
  EXPECT_EQ(result.barriers, 2);
}

TEST(Schedule, FillOfEachPair) {
  Schedule schedule(2, 5, true);
  schedule.open(1);
  schedule.add(0, 0, 10);
  schedule.add(0, 0, 1);
  schedule.add(0, 1, 2);
  schedule.close();
  const ScheduleResult result = schedule.finish();
  EXPECT_EQ(result.cycles, 21);
  EXPECT_EQ(result.fill, 15);
  EXPECT_EQ(result.imbalance, 14);
}

TEST(Area, PublishedSums) {
  double sum = 0;
  for (const AreaItem& item : scnn_pe_area()) sum += item.mm2_a_pe;
  EXPECT_NEAR(sum, 0.124, 1e-9);
  EXPECT_NEAR(scnn_chip_mm2(64, 4), 7.9, 0.05);
  EXPECT_NEAR(ant_chip_mm2(64, 4).added_once_mm2 - scnn_chip_mm2(64, 4), 0.0017, 1e-9);
  EXPECT_NEAR(ant_chip_mm2(64, 4).added_a_pe_mm2 / scnn_chip_mm2(64, 4), 1 + 0.0017 / 0.123, 1e-9);
}

}  // namespace
}  // namespace lacuna::outer
