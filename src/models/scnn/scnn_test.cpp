#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "scnn_pe.hpp"
#include "sim/outer_product/testing/machine_checks.hpp"
#include "sim/outer_product/testing/pair_bench.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::scnn {
namespace {

TEST(ScnnPe, Goldens) {
  for (const testing::Golden& golden : testing::goldens()) {
    SCOPED_TRACE(golden.name);
    const testing::Oracle oracle(golden.image, golden.kernel, golden.geometry);
    const testing::OracleCounts all = oracle.brute();
    EXPECT_EQ(all.all, golden.all);
    EXPECT_EQ(all.valid, golden.valid);
    const ScnnPe pe(
        {static_cast<std::int64_t>(golden.n_image), static_cast<std::int64_t>(golden.n_kernel), 0});
    const outer_product::PairCounts counts = testing::check_pair(
        pe, golden.image, golden.kernel, golden.geometry, oracle.scnn(golden.n_image, golden.n_kernel, 0, 0));
    EXPECT_EQ(counts.cartesian, golden.all);
    EXPECT_EQ(counts.useful, golden.valid);
    EXPECT_EQ(counts.steps, golden.scnn_steps);
    EXPECT_EQ(counts.cycles() + 2, golden.scnn_cycles);
  }
}

TEST(ScnnPe, EqualsTheOracleOnTenThousandPairs) {
  for (std::uint64_t seed = 1; seed <= random_cases(10000); ++seed) {
    SCOPED_TRACE(seed);
    const testing::RandomPair pair = testing::random_pair(seed);
    const testing::Oracle oracle(pair.image, pair.kernel, pair.geometry);
    const ScnnPe pe(
        {static_cast<std::int64_t>(pair.n_image), static_cast<std::int64_t>(pair.n_kernel), pair.banks});
    const outer_product::PairCounts counts = testing::check_pair(
        pe, pair.image, pair.kernel, pair.geometry, oracle.scnn(pair.n_image, pair.n_kernel, 0, pair.banks));
    const testing::OracleCounts all = oracle.brute();
    ASSERT_EQ(counts.cartesian, all.all);
    ASSERT_EQ(counts.useful, all.valid);
    if (HasFailure()) return;
  }
}

using outer_product::BankTally, outer_product::PairCounts;

// The machine as it works: every element that is held times every one that passes by.
PairCounts execute_every_product(const outer_product::PeConfig& config, const CsrPlane& image,
                                 const CsrPlane& kernel, const IndexMap& map, const OutputPlane& output) {
  PairCounts counts;
  counts.pairs = kernel.kernels(map.y.kernel);
  counts.cartesian = image.nonzeros() * kernel.nonzeros();
  BankTally tally(std::max<std::int64_t>(1, config.banks), map);
  for (std::int64_t a = 0; a < image.nonzeros(); a += config.image_lanes) {
    const std::int64_t a_end = std::min(a + config.image_lanes, image.nonzeros());
    counts.image_reads += a_end - a;
    for (std::int64_t b = 0; b < kernel.nonzeros(); b += config.kernel_lanes) {
      const std::int64_t b_end = std::min(b + config.kernel_lanes, kernel.nonzeros());
      counts.kernel_value_reads += b_end - b;
      counts.kernel_index_reads += b_end - b;
      ++counts.steps;
      for (auto i = static_cast<std::size_t>(a); i < static_cast<std::size_t>(a_end); ++i) {
        for (auto j = static_cast<std::size_t>(b); j < static_cast<std::size_t>(b_end); ++j) {
          ++counts.executed;
          const std::int64_t packed = kernel.row[j] / map.y.kernel;
          const IndexMap::Output at =
              map.output(image.row[i], image.col[i], kernel.row[j] % map.y.kernel, kernel.col[j]);
          if (!at.valid() || !output.needs(at, packed)) continue;
          ++counts.useful;
          output.add(at, image.value[i] * kernel.value[j], packed);
          tally.add(at, packed);
        }
      }
      const std::int64_t stall = tally.finish_step();
      if (config.banks > 0) counts.conflict_stalls += stall;
    }
  }
  return counts;
}

CsrPlane random_plane(Random& random, std::int64_t rows, std::int64_t columns) {
  CsrPlane plane;
  plane.start(rows, columns);
  const double density = random.uniform();
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; ++x) {
      if (random.uniform() < density) plane.add(x, static_cast<float>(random.integer(1, 5)));
    }
    plane.end_row();
  }
  return plane;
}

// Planes of convolutions and of matrices, kernels packed below each other, outputs that nobody needs.
TEST(ScnnPe, CountsAndAddsAsIfItMultipliedEverything) {
  for (std::uint64_t seed = 1; seed <= random_cases(3000); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    IndexMap map = IndexMap::matrix(random.integer(1, 9), random.integer(1, 9), random.integer(1, 9));
    if (random.integer(0, 3) > 0) {
      map = IndexMap::convolution(lacuna::testing::random_shape(random),
                                  kOperations[static_cast<std::size_t>(random.integer(0, 2))]);
    }
    const bool matrix = map.kind == IndexMap::Kind::kMatrix;
    const std::int64_t packed = matrix ? 1 : random.integer(1, 3);
    const CsrPlane image = random_plane(random, map.y.image, map.x.image);
    const CsrPlane kernel = random_plane(random, map.y.kernel * packed, map.x.kernel);
    const outer_product::PeConfig config{random.integer(1, 5), random.integer(1, 5), random.integer(0, 8)};
    const Size2 size = map.outputs();
    const std::int64_t elements = size.h * size.w * packed;
    std::vector<float> needed;
    for (std::int64_t i = 0; i < elements; ++i) needed.push_back(static_cast<float>(random.integer(0, 1)));
    std::vector<float> out(static_cast<std::size_t>(elements), 0.0F), expected = out;
    OutputPlane to{out.data(), size.w, 1, size.h * size.w,
                   random.integer(0, 2) == 0 ? nullptr : needed.data()};
    const PairCounts counts = ScnnPe(config).execute(image, kernel, map, to);
    to.base = expected.data();
    ASSERT_TRUE(counts == execute_every_product(config, image, kernel, map, to));
    ASSERT_EQ(out, expected);
  }
}

TEST(Scnn, CountsSetsAsPairs) {
  testing::check_sets("scnn", [](const outer_product::MachineConfig& config, const Params&) {
    return std::make_unique<ScnnPe>(config.pe());
  });
}

TEST(Scnn, BothEnginesAgreeAndLawsHoldOnRandomLayers) { testing::check_random_layers("scnn", 1, 250); }

TEST(Scnn, FunctionalEqualsFastOnValuesOfATrace) { testing::check_value_layers("scnn"); }

TEST(Scnn, TwiceTheMultipliersIsTheDenseMachinesTwiceTheTiles) { testing::check_dense_baseline("scnn"); }

TEST(Scnn, RefusesMachinesThatCannotBe) { testing::check_bad_configurations("scnn"); }

// [ANT talk: efficiency of dense 3x3 layers on 114x114: 96.52 % forward, 0.07 % weight update]
TEST(Scnn, ShareOfRedundantProductsOfADenseLayer) {
  const Trace trace = testing::dense_trace(LayerShape::conv2d(1, 1, 1, {114, 114}, {3, 3}));
  const auto share = [&](Operation op) {
    const OpResult result = testing::simulate_one("scnn", {}, trace.layers()[0], op);
    return 100.0 * static_cast<double>(testing::counter(result, "rcps")) /
           static_cast<double>(testing::counter(result, "cartesian_products"));
  };
  EXPECT_NEAR(share(Operation::kForward), 3.48, 0.005);
  EXPECT_NEAR(share(Operation::kWeightGrad), 99.93, 0.005);
}

// One pair on one PE by hand: 9 non-zeros are 3 vectors, a 3x3 kernel too: 9 steps and 2 to fill.
TEST(Scnn, CyclesOfASmallLayerByHand) {
  const Trace trace = testing::dense_trace(LayerShape::conv2d(1, 1, 65, {3, 3}, {3, 3}, {1, 1}, {1, 1}));
  const OpResult result = testing::simulate_one("scnn", {}, trace.layers()[0], Operation::kForward);
  EXPECT_EQ(result.cycles, 2 * 9 + 2);  // 65 pairs on 64 PEs
  EXPECT_EQ(testing::counter(result, "imbalance_cycles"), 63 * 9);
  EXPECT_EQ(testing::counter(result, "fill_cycles"), 64 * 2);
  EXPECT_EQ(testing::counter(result, "fragmented_slots"), 65 * (9 * 16 - 81));
  const OpResult paid =
      testing::simulate_one("scnn", {{"fill_scope", "pair"}}, trace.layers()[0], Operation::kForward);
  EXPECT_EQ(paid.cycles, 2 * (9 + 2));
}

// scnn-tiles: a 16x16 plane is 2x2 positions a PE; each tile is one vector, a kernel of 9 is 3 steps.
TEST(Scnn, TilesBarriersAndHalosByHand) {
  const Trace trace = testing::dense_trace(LayerShape::conv2d(1, 2, 10, {16, 16}, {3, 3}, {1, 1}, {1, 1}));
  const OpResult result = testing::simulate_one("scnn", {{"mapping", "scnn-tiles"}, {"group_channels", "4"}},
                                                trace.layers()[0], Operation::kForward);
  EXPECT_EQ(result.cycles, 2 * 10 * 3 + 2);
  EXPECT_EQ(testing::counter(result, "barriers"), 3);  // 4 + 4 + 2 output channels
  EXPECT_EQ(testing::counter(result, "imbalance_cycles"), 0);
  // A tile reaches 4x4 outputs and owns 2x2: 12 inside, 3x4 - 4 at an edge, 3x3 - 4 in a corner.
  EXPECT_EQ(testing::counter(result, "halo_values"), 10 * (36 * 12 + 24 * 8 + 4 * 5));
}

// The same with kernels packed: 36, 36 and 18 weights of a channel are 9, 9 and 5 vectors.
TEST(Scnn, VectorsHoldWeightsOfSeveralFiltersByHand) {
  const Trace trace = testing::dense_trace(LayerShape::conv2d(1, 2, 10, {16, 16}, {3, 3}, {1, 1}, {1, 1}));
  const OpResult result = testing::simulate_one(
      "scnn", {{"mapping", "scnn-tiles"}, {"group_channels", "4"}, {"kernel_vectors", "group"}},
      trace.layers()[0], Operation::kForward);
  EXPECT_EQ(result.cycles, 2 * (9 + 9 + 5) + 2);
  EXPECT_EQ(testing::counter(result, "pairs"), 64 * 2 * 10);
  EXPECT_EQ(testing::counter(result, "fragmented_slots"), 64 * 2 * 2 * 4);  // two weights short of 5 vectors
}

// Batch 1, one reduction index at a time: one image lane of four is filled [SCNN: FC layers at 25 % of peak].
TEST(Scnn, LinearByChannelsFillsAQuarterOfTheMultipliers) {
  const Trace trace = testing::dense_trace(LayerShape::linear(1, 64, 1024));
  const OpResult result =
      testing::simulate_one("scnn", {{"linear", "channels"}}, trace.layers()[0], Operation::kForward);
  EXPECT_EQ(result.cycles, 64 * 16 / 4 + 2);
  EXPECT_EQ(testing::counter(result, "rcps"), 0);
}

}  // namespace
}  // namespace lacuna::scnn
