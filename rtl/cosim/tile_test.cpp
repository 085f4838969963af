// The whole tile against the model, bit by bit and cycle by cycle: TensorDash with one scheduler per row and
// per PE, the bypass and the baseline; FP32 and bfloat16; and operations of a recorded layer whose outputs
// must be the reference convolution's.
#include <bit>
#include <gtest/gtest.h>
#include <xmmintrin.h>

#include "Vtile.h"
#include "Vtile_1x4.h"
#include "Vtile_3x2.h"
#include "Vtile_4x4.h"
#include "Vtile_bf16.h"
#include "Vtile_dense.h"
#include "Vtile_fast.h"
#include "Vtile_fast_dense.h"
#include "Vtile_fast_pairs.h"
#include "Vtile_one_lane.h"
#include "Vtile_pairs.h"
#include "layer_reference.hpp"
#include "tile_driver.hpp"

namespace lacuna::rtl {
namespace {

// Numbers of moderate size, so that sums round in all ways; now and then a denormal, a huge one or an
// infinity.
std::uint32_t random_number(Random& random, int width) {
  auto bits = static_cast<std::uint32_t>(random.bits());
  const double kind = random.uniform();
  if (kind < 0.97)
    bits = (bits & 0x807fffffU) | static_cast<std::uint32_t>(random.integer(110, 144)) << 23;
  else if (kind < 0.98)
    bits &= 0x807fffffU;
  else if (kind < 0.99)
    bits = (bits & 0x807fffffU) | 190U << 23;
  return width == 16 ? bits >> 16 : bits;
}

StreamGroup random_streams(Random& random, int streams, int steps, int lanes, double zeros, int width) {
  StreamGroup group{streams, steps, lanes, {}};
  for (int i = 0; i < streams * steps * lanes; ++i) {
    group.values.push_back(random.chance(zeros) ? 0 : random_number(random, width));
  }
  return group;
}

template <typename Top, unsigned kLanes = 16>
void check_tile(TileShapeInfo tile, int outputs, bool bypass, std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  _mm_setcsr(_mm_getcsr() | 0x8040U);
  Random random(seed);
  TileDriver<Top, kLanes> driver(tile, seed + 1);
  constexpr int lanes = kLanes;
  int done = 0;
  while (done < outputs) {
    const double bypassed = bypass && random.chance(0.5) ? random.uniform() : 0;
    const auto batch = static_cast<int>(random.integer(1, 8));
    for (int i = 0; i < batch; ++i, ++done) {
      const auto steps = static_cast<int>(random.integer(1, 20));
      driver.push(random_streams(random, tile.rows, steps, lanes, random.uniform(), tile.width),
                  random_streams(random, tile.columns, steps, lanes,
                                 (tile.pairs ? 0.9 : 0.3) * random.uniform(), tile.width),
                  random.chance(bypassed));
    }
    const Stalls stalls =
        random.chance(0.5) ? Stalls{random.uniform() * 0.8, random.uniform() * 0.8} : Stalls{};
    if (random.chance(0.1)) {  // a reset in the middle leaves nothing behind
      driver.run(stalls, random.integer(0, 30), false);
      ASSERT_TRUE(driver.errors().empty()) << driver.errors().front();
      driver.reset();
      done -= batch;
      driver.results.resize(static_cast<std::size_t>(done));
      continue;
    }
    driver.run(stalls, 100000);
    ASSERT_TRUE(driver.errors().empty()) << driver.errors().front();
  }
  EXPECT_EQ(driver.results.size(), static_cast<std::size_t>(done));
  _mm_setcsr(_mm_getcsr() & ~0x8040U);
}

TEST(Tile, Fp32) { check_tile<Vtile>({2, 2, 32, true}, 400, true, 1); }
TEST(Tile, Bfloat16) { check_tile<Vtile_bf16>({1, 1, 16, true}, 400, true, 2); }
TEST(Tile, FourByFour) { check_tile<Vtile_4x4>({4, 4, 16, true}, 200, true, 5); }
TEST(Tile, ThreeByTwo) { check_tile<Vtile_3x2>({3, 2, 16, true}, 200, true, 6); }
TEST(Tile, OneByFourBothSides) { check_tile<Vtile_1x4>({1, 4, 16, true, true}, 200, true, 7); }
TEST(Tile, OneLane) { check_tile<Vtile_one_lane, 1>({2, 2, 16, true}, 400, true, 8); }
// With registers for a faster clock: as measured (docs/silicon.md), and other depths.
TEST(Tile, FastFp32) { check_tile<Vtile_fast>({2, 2, 32, true, false, 1, 1, 1}, 400, true, 11); }
TEST(Tile, FastBaseline) { check_tile<Vtile_fast_dense>({1, 1, 32, false, false, 0, 2, 2}, 400, false, 12); }
TEST(Tile, FastBothSides) { check_tile<Vtile_fast_pairs>({2, 1, 16, true, true, 1, 0, 3}, 400, true, 13); }
TEST(Tile, BothSides) { check_tile<Vtile_pairs>({2, 2, 32, true, true}, 400, true, 4); }
TEST(Tile, BaselineFp32) { check_tile<Vtile_dense>({1, 1, 32, false}, 400, false, 3); }

// Every output of one operation of a recorded layer, computed by the RTL with values from the model's
// generator.
template <typename Top>
void check_layer(const std::string& sides) {
  const RecordedOperation op = smallest_operation(recorded_trace("squeezenet"), 20'000, sides);
  SCOPED_TRACE(op.name);
  std::int64_t cycles = 0;
  for (const RecordedProduct& product : op.products) {
    TileDriver<Top> driver({kLayerTile, kLayerTile, 32, true, sides == "both"}, 9);
    for (const StreamGroup& b : product.row_groups) {
      for (const StreamGroup& a : product.column_groups) driver.push(b, a);
    }
    const auto counts = driver.run({}, 10'000'000);
    ASSERT_TRUE(driver.errors().empty()) << driver.errors().front();
    cycles += counts.issued;
    // Small integers: sums are exact, whatever their order.
    std::size_t at = 0;
    for (const std::vector<std::uint32_t>& result : driver.results) {
      for (std::size_t pe = 0; pe < result.size(); ++pe) {
        ASSERT_EQ(std::bit_cast<float>(result[pe]), product.outputs[at][pe])
            << "output group " << at << " PE " << pe;
      }
      ++at;
    }
    ASSERT_EQ(at, product.outputs.size());
  }
  EXPECT_EQ(cycles, op.cycles) << "cycles of the fast engine";
}
TEST(Tile, LayerValuesEqualTheReference) { check_layer<Vtile>("one"); }
TEST(Tile, LayerValuesEqualTheReferenceBothSides) { check_layer<Vtile_pairs>("both"); }

}  // namespace
}  // namespace lacuna::rtl
