#include <gtest/gtest.h>
#include <set>

#include "sim/outer_product/index_map.hpp"
#include "sim/outer_product/planes.hpp"
#include "sim/outer_product/schedule.hpp"
#include "sim/outer_product/work.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::outer_product {
namespace {

TEST(IndexMap, DivisionRoundsDown) {
  for (std::int64_t a = -20; a <= 20; ++a) {
    for (std::int64_t b = 1; b <= 5; ++b) {
      EXPECT_LE(floor_div(a, b) * b, a);
      EXPECT_GT((floor_div(a, b) + 1) * b, a);
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

// The PEs that a plane is brought to, against every pair's PE.
TEST(ConvolutionWork, CopiesOfPlanes) {
  MachineConfig tiles;
  tiles.mapping = Mapping::kScnnTiles;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const LayerShape shape = lacuna::testing::random_shape(random, {100, 9, 2});
    if (shape.kind == LayerKind::kLinear) continue;
    for (const Operation op : kOperations) {
      for (const MachineConfig& config : {MachineConfig{}, tiles}) {
        const ConvolutionWork work = ConvolutionWork::of(shape, op, config);
        std::set<std::int64_t> of_image, of_kernel;
        for (std::int64_t y = 0; y < work.map.y.image; ++y) {
          for (std::int64_t x = 0; x < work.map.x.image; ++x) {
            const std::int64_t tile = work.tile_of(y, x);
            const std::int64_t block = work.blocks() - 1, image = work.images - 1, kernel = work.kernels - 1;
            if (y == 0 && x == 0) {
              for (std::int64_t k = 0; k < work.kernels; ++k) of_image.insert(work.pe(block, image, k, tile));
            }
            if (op == Operation::kWeightGrad) {
              for (std::int64_t i = 0; i < work.images; ++i)
                of_kernel.insert(work.pe(block, i, kernel, tile));
            } else {
              of_kernel.insert(work.pe(block, image, kernel, tile));
            }
          }
        }
        ASSERT_EQ(work.image_copies(), static_cast<std::int64_t>(of_image.size()));
        ASSERT_EQ(work.kernel_copies(), static_cast<std::int64_t>(of_kernel.size()));
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

}  // namespace
}  // namespace lacuna::outer_product
