#include <gtest/gtest.h>

#include "ant_counter.hpp"
#include "ant_pe.hpp"
#include "base/cpu.hpp"
#include "base/testing.hpp"
#include "range_search.hpp"
#include "sim/outer_product/testing/machine_checks.hpp"
#include "sim/outer_product/testing/pair_bench.hpp"

namespace lacuna::ant {
namespace {

AntPeConfig config_of(std::size_t n_image, std::size_t n_kernel, std::int64_t k) {
  return {{static_cast<std::int64_t>(n_image), static_cast<std::int64_t>(n_kernel)}, k, 1};
}

TEST(AntPe, Goldens) {
  for (const testing::Golden& golden : testing::goldens()) {
    SCOPED_TRACE(golden.name);
    const testing::Oracle oracle(golden.image, golden.kernel, golden.geometry);
    const AntPe pe(config_of(golden.n_image, golden.n_kernel, golden.k));
    const outer_product::PairCounts counts =
        testing::check_pair(pe, golden.image, golden.kernel, golden.geometry,
                            oracle.ant(golden.n_image, golden.n_kernel, golden.k, 0, 1, 0));
    EXPECT_EQ(counts.cartesian, golden.all);
    EXPECT_EQ(counts.useful, golden.valid);
    EXPECT_EQ(counts.executed, golden.executed);
    EXPECT_EQ(counts.steps, golden.ant_steps);
    EXPECT_EQ(counts.cycles() + 5, golden.ant_cycles);
  }
}

// The number of kernel indices read, from a run of a second program, written from the rules alone.
TEST(AntPe, GoldenIndicesRead) {
  const std::int64_t expected[] = {5, 180, 144, 14, 29, 12, 16};
  const std::vector<testing::Golden> goldens = testing::goldens();
  for (std::size_t i = 0; i < goldens.size(); ++i) {
    const testing::Golden& golden = goldens[i];
    const AntPe pe(config_of(golden.n_image, golden.n_kernel, golden.k));
    const outer_product::IndexMap map = testing::index_map(golden.geometry, golden.image, golden.kernel);
    EXPECT_EQ(testing::execute_pair(pe, golden.image, golden.kernel, map).counts.kernel_index_reads,
              expected[i]);
  }
}

TEST(AntPe, EqualsTheOracleOnTenThousandPairs) {
  for (std::uint64_t seed = 1; seed <= random_cases(10000); ++seed) {
    SCOPED_TRACE(seed);
    const testing::RandomPair pair = testing::random_pair(seed);
    const testing::Oracle oracle(pair.image, pair.kernel, pair.geometry);
    AntPeConfig config = config_of(pair.n_image, pair.n_kernel, pair.k);
    config.empty_cost = pair.empty;
    config.banks = pair.banks;
    const testing::OracleCounts expected =
        oracle.ant(pair.n_image, pair.n_kernel, pair.k, 0, pair.empty, pair.banks);
    const outer_product::PairCounts counts =
        testing::check_pair(AntPe(config), pair.image, pair.kernel, pair.geometry, expected);
    const testing::OracleCounts all = oracle.brute();
    ASSERT_EQ(counts.cartesian, all.all);
    ASSERT_EQ(counts.useful, all.valid);  // nothing useful is ever left out
    ASSERT_EQ(counts.kernel_index_reads, expected.seen);
    ASSERT_EQ(expected.out, all.out);
    // Each cycle moves at least n indices on, so ANT never needs more cycles than SCNN-like steps.
    if (pair.k >= static_cast<std::int64_t>(pair.n_kernel) && pair.empty <= 1 && pair.banks == 0) {
      ASSERT_LE(counts.cycles(), oracle.scnn(pair.n_image, pair.n_kernel, 0, 0).cycles);
    }
    if (HasFailure()) return;
  }
}

// Wide planes with a window far smaller than a row: the closed form's bubbles and jumps.
TEST(AntPe, EqualsTheOracleOnWidePlanes) {
  for (std::uint64_t seed = 1; seed <= random_cases(300); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::int64_t size = random.integer(20, 80);
    const auto plane = [&](double density) {
      testing::Matrix m(static_cast<std::size_t>(random.integer(3, 9)),
                        std::vector<int>(static_cast<std::size_t>(size), 0));
      for (auto& row : m)
        for (int& v : row) v = random.chance(density) ? static_cast<int>(random.integer(1, 9)) : 0;
      m[1][2] = 1;
      return m;
    };
    const testing::Matrix image = plane(random.uniform()), kernel = plane(random.uniform());
    const testing::OracleGeometry geometry{{1, 1, 1, 1, 3}, {1, random.integer(1, 2), 1, 1, 3}};
    const std::int64_t k = random.integer(1, 20);
    const std::size_t n = static_cast<std::size_t>(random.integer(1, 5));
    const testing::Oracle oracle(image, kernel, geometry);
    testing::check_pair(AntPe(config_of(n, n, k)), image, kernel, geometry, oracle.ant(n, n, k, 0, 1, 0));
    if (HasFailure()) return;
  }
}

TEST(RangeWalk, AllInRangeEqualsTheSearchOverOneRow) {
  for (std::int64_t count = 0; count <= 40; ++count) {
    outer_product::CsrPlane kernel;
    kernel.start(1, 40);
    for (std::int64_t s = 0; s < count; ++s) kernel.add(s);
    kernel.end_row();
    outer_product::ColumnStarts starts;
    starts.build(kernel);
    for (std::int64_t n = 1; n <= 6; ++n) {
      for (std::int64_t window = 1; window <= 20; ++window) {
        const RangeWalk all = walk_all(count, n, window);
        const RangeWalk searched = walk_range(starts, 0, 0, 0, 39, n, window);
        ASSERT_EQ(all.steps, searched.steps) << count << ' ' << n << ' ' << window;
        ASSERT_EQ(all.bubbles, searched.bubbles);
        ASSERT_EQ(all.hits, searched.hits);
        ASSERT_EQ(all.seen, searched.seen) << count << ' ' << n << ' ' << window;
      }
    }
  }
}

// Sixteen random kernels at a time, on each instruction set.
TEST(RangeSearch, EqualsTheWalkOfEachLane) {
  constexpr std::size_t kLanes = outer_product::KernelBatch::kLanes;
  for (std::uint64_t seed = 1; seed <= random_cases(600); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    outer_product::KernelBatch batch;
    batch.rows = random.integer(1, 14);
    batch.cols = random.integer(1, 40);
    const double density = random.uniform();
    std::array<outer_product::CsrPlane, kLanes> planes;
    for (outer_product::CsrPlane& plane : planes) plane.start(batch.rows, batch.cols);
    std::array<std::int32_t, kLanes> before{};
    for (std::int64_t r = 0; r < batch.rows; ++r) {
      for (std::int64_t s = 0; s < batch.cols; ++s) {
        batch.starts.push_back(before);
        for (std::size_t l = 0; l < kLanes; ++l) {
          if (!random.chance(density)) continue;
          planes[l].add(s);
          ++before[l];
        }
      }
      batch.starts.push_back(before);
      for (outer_product::CsrPlane& plane : planes) plane.end_row();
    }
    std::vector<RangeVectors> ranges;
    for (int i = 0; i < 30; ++i) {
      const std::int64_t r0 = random.integer(0, batch.rows - 1), s0 = random.integer(0, batch.cols - 1);
      const std::int64_t vectors = random.integer(1, 5);
      ranges.push_back(
          {static_cast<std::uint32_t>(r0), static_cast<std::uint32_t>(random.integer(r0, batch.rows - 1)),
           static_cast<std::uint32_t>(s0), static_cast<std::uint32_t>(random.integer(s0, batch.cols - 1)),
           static_cast<std::int32_t>(vectors), static_cast<std::int32_t>(vectors * random.integer(1, 4))});
    }
    const std::int64_t n = random.integer(1, 9), window = random.integer(1, batch.rows * batch.cols);
    SearchSums expected;
    for (std::size_t l = 0; l < kLanes; ++l) {
      outer_product::ColumnStarts starts;
      starts.build(planes[l]);
      for (const RangeVectors& range : ranges) {
        const RangeWalk walk = walk_range(starts, range.r0, range.r1, range.s0, range.s1, n, window);
        expected.steps[l] += range.vectors * walk.steps;
        expected.bubbles[l] += range.vectors * walk.bubbles;
        expected.empty[l] += walk.steps + walk.bubbles == 0 ? range.vectors : 0;
        expected.hits[l] += range.vectors * walk.hits;
        expected.seen[l] += range.vectors * walk.seen;
        expected.executed[l] += range.elements * walk.hits;
      }
    }
    for (const Isa isa : kIsas) {
      if (!isa_available(isa)) continue;
      SearchSums sums;
      LACUNA_OF_ISA(isa, kRangeSearchPortable, kRangeSearchAvx2, kRangeSearchAvx512)
      (ranges, batch, static_cast<std::int32_t>(n), static_cast<std::int32_t>(window), sums);
      ASSERT_EQ(sums.steps, expected.steps) << isa_name(isa);
      ASSERT_EQ(sums.bubbles, expected.bubbles) << isa_name(isa);
      ASSERT_EQ(sums.empty, expected.empty) << isa_name(isa);
      ASSERT_EQ(sums.hits, expected.hits) << isa_name(isa);
      ASSERT_EQ(sums.seen, expected.seen) << isa_name(isa);
      ASSERT_EQ(sums.executed, expected.executed) << isa_name(isa);
    }
  }
}

TEST(Ant, CountsSetsAsPairs) {
  testing::check_sets("ant", [](const outer_product::MachineConfig& config, const Params& params) {
    return std::make_unique<AntPe>(
        AntPeConfig{config.pe(), params.integer("k"), params.integer("empty_cost")});
  });
}

TEST(Ant, BothEnginesAgreeAndLawsHoldOnRandomLayers) { testing::check_random_layers("ant", 1000, 250); }

TEST(Ant, FunctionalEqualsFastOnValuesOfATrace) { testing::check_value_layers("ant"); }

TEST(Ant, TwiceTheMultipliersIsTheDenseMachinesTwiceTheTiles) { testing::check_dense_baseline("ant"); }

TEST(Ant, RefusesMachinesThatCannotBe) { testing::check_bad_configurations("ant"); }

// Matrix multiplication by hand: A [2 x 3] dense, W [5 x 3] dense. In column-major order A's six elements are
// the vectors {k0 k0 k1 k1}, {k2 k2}; five outputs are five kernel columns, one per PE, so the vectors see
// 2 and 1 kernel elements: one step each.
TEST(Ant, MatrixMultiplicationByHand) {
  const Trace trace = testing::dense_trace(LayerShape::linear(2, 3, 5));
  const OpResult result = testing::simulate_one("ant", {}, trace.layers()[0], Operation::kForward);
  EXPECT_EQ(result.cycles, 2 + 5);
  EXPECT_EQ(testing::counter(result, "cartesian_products"), 5 * 6 * 3);
  EXPECT_EQ(testing::counter(result, "executed_products"), 5 * (4 * 2 + 2 * 1));
  EXPECT_EQ(testing::counter(result, "useful_products"), 2 * 3 * 5);
  EXPECT_EQ(testing::counter(result, "idle_pe_cycles"), (64 - 5) * 2);
}

// ANT is never slower than the SCNN-like machine by more than its longer fill, whatever the layer.
TEST(Ant, NeverLosesMoreThanItsFillToScnn) {
  for (std::uint64_t seed = 1; seed <= random_cases(300); ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{40, 16, 2});
    for (const Operation op : kOperations) {
      const OpResult ant = testing::simulate_one("ant", {}, trace.layers()[0], op);
      const OpResult scnn = testing::simulate_one("scnn", {}, trace.layers()[0], op);
      ASSERT_LE(ant.cycles, scnn.cycles + 3) << "seed " << seed;
      ASSERT_EQ(testing::counter(ant, "cartesian_products"), testing::counter(scnn, "cartesian_products"));
    }
  }
}

}  // namespace
}  // namespace lacuna::ant
