#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/tile/tile_clock.hpp"
#include "sim/workload/mac_counts.hpp"
#include "sim/workload/operand_streams.hpp"
#include "sim/workload/reference.hpp"
#include "sim/workload/schedule_policy.hpp"
#include "tensor/scaled_half.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

// Every pair of a training convolution, straight from the definition of the forward product: output (n, oy,
// ox, k) multiplies A[n, oy*s - p + ky*d, ...] with W[k, ky, kx, c]; the two gradients use the same triples.
template <typename Visit>  // visit(a_row or -1, a_channel, w_row, w_channel, g_row, g_channel)
void for_each_triple(const LayerShape& s, const Visit& visit) {
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t oy = 0; oy < s.output.h; ++oy)
      for (std::int64_t ox = 0; ox < s.output.w; ++ox)
        for (std::int64_t k = 0; k < s.k; ++k)
          for (std::int64_t ky = 0; ky < s.kernel.h; ++ky)
            for (std::int64_t kx = 0; kx < s.kernel.w; ++kx)
              for (std::int64_t c = 0; c < s.c_per_group(); ++c) {
                const std::int64_t y = oy * s.stride.h - s.padding.h + ky * s.dilation.h;
                const std::int64_t x = ox * s.stride.w - s.padding.w + kx * s.dilation.w;
                const bool inside = y >= 0 && y < s.input.h && x >= 0 && x < s.input.w;
                const std::int64_t group = k / s.k_per_group();
                visit(inside ? (n * s.input.h + y) * s.input.w + x : -1, group * s.c_per_group() + c,
                      (k * s.kernel.h + ky) * s.kernel.w + kx, c, (n * s.output.h + oy) * s.output.w + ox, k);
              }
}

// Every (input position, weight) pair of the input gradient's sub-kernels, one per phase of the stride.
std::int64_t plain_phases(const Layer& layer) {
  const LayerShape& s = layer.shape;
  std::int64_t count = 0;
  for (std::int64_t y = 0; y < s.input.h; ++y)
    for (std::int64_t x = 0; x < s.input.w; ++x)
      for (std::int64_t row = 0; row < layer.w.mask.rows; ++row) {
        const std::int64_t ky = row % s.taps() / s.kernel.w;
        const std::int64_t kx = row % s.kernel.w;
        if ((y + s.padding.h - ky * s.dilation.h) % s.stride.h != 0) continue;
        if ((x + s.padding.w - kx * s.dilation.w) % s.stride.w != 0) continue;
        for (std::int64_t c = 0; c < s.c_per_group(); ++c) count += layer.w.mask.bit(row, c);
      }
  return count * s.n;
}

void expect_plain_counts(const Layer& layer) {
  std::int64_t with_a = 0, with_w = 0, with_g_all = 0, with_g = 0, aw = 0, wg = 0, ag = 0;
  for_each_triple(layer.shape, [&](auto a_row, auto a_c, auto w_row, auto w_c, auto g_row, auto g_k) {
    const bool a = a_row >= 0 && layer.a.mask.bit(a_row, a_c);
    const bool w = layer.w.mask.bit(w_row, w_c);
    const bool g = layer.g.mask.bit(g_row, g_k);
    with_a += a;
    with_w += w;
    with_g_all += g;
    with_g += g && a_row >= 0;  // outside the image there is no input to have a gradient
    aw += a && w;
    wg += w && g && a_row >= 0;
    ag += a && g;
  });
  const MacCounts forward = count_macs(layer, Operation::kForward);
  EXPECT_EQ(forward.with_primary, with_a);
  EXPECT_EQ(forward.with_secondary, with_w);
  EXPECT_EQ(forward.effectual, aw);
  const MacCounts input = count_macs(layer, Operation::kInputGrad);
  EXPECT_EQ(input.with_primary, with_g);
  EXPECT_EQ(input.with_secondary, plain_phases(layer));
  EXPECT_EQ(input.effectual, wg);
  const MacCounts weight = count_macs(layer, Operation::kWeightGrad);
  EXPECT_EQ(weight.with_primary, with_g_all);
  EXPECT_EQ(weight.with_secondary, with_a);
  EXPECT_EQ(weight.effectual, ag);
}

// A layer whose tensors have zeros or, by the bits of `full`, none.
Trace partly_full(const LayerShape& shape, unsigned full, std::uint64_t seed) {
  Random random(seed);
  const auto zeros = [&](unsigned bit) {
    return (full & bit) != 0 ? ZeroSpec::dense() : testing::random_zeros(random);
  };
  SyntheticSpec spec;
  spec.seed = seed;
  spec.layers.push_back({"l", shape, 1, zeros(1), zeros(2), zeros(4)});
  return make_synthetic(spec);
}

TEST(MacCounts, EqualPlainEnumeration) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{12, 6, 2});
    expect_plain_counts(trace.layers()[0]);
  }
}

TEST(MacCounts, EqualPlainEnumerationWithFullTensors) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const LayerShape shape = testing::random_shape(random, {9, 7, 2});
    const Trace trace = partly_full(shape, static_cast<unsigned>(seed % 8), seed);
    expect_plain_counts(trace.layers()[0]);
  }
}

// Kernels of 64 taps and more, which running sums count.
TEST(MacCounts, EqualPlainEnumerationWithManyTaps) {
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto size2 = [&](std::int64_t low, std::int64_t high) {
      return Size2{random.integer(low, high), random.integer(low, high)};
    };
    const std::int64_t groups = random.integer(1, 2);
    const LayerShape shape =
        LayerShape::conv2d(random.integer(1, 2), groups * random.integer(1, 3), groups * random.integer(1, 3),
                           size2(1, 14), size2(6, 14), size2(1, 3), size2(0, 14), size2(1, 2), groups);
    if (shape.output.h < 1 || shape.output.w < 1 || shape.taps() < 64) continue;
    ++seen;
    const Trace trace = partly_full(shape, seed % 4 == 0 ? static_cast<unsigned>(seed / 4 % 8) : 0, seed);
    expect_plain_counts(trace.layers()[0]);
  }
  EXPECT_GT(seen, 100);
}

// A few bytes can describe a layer of 2^40 elements that are all there: its counts must not walk over them.
// Going over the rows of one of these tensors would take minutes, over its pairs years.
TEST(MacCounts, AFullLayerOfAnySizeTakesNoTime) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 24;
  const std::vector<LayerShape> shapes{
      LayerShape::conv2d(256, 256, 4, {kLarge, 1}, {1, 1}),
      LayerShape::conv2d(1, 1, 1, {kLarge, 1}, {kLarge, 1}),
      LayerShape::conv2d(1, 1, 1, {kLarge - 5, 1}, {kLarge / 3, 1}, {3, 1}, {kLarge / 3, 0}, {2, 1}),
      LayerShape::conv2d(1, 1, 1, {1, 1}, {kLarge, 1}, {1, 1}, {kLarge - 1, 0}),
      LayerShape::linear(1 << 20, 1 << 20, 1 << 20)};
  for (const LayerShape& shape : shapes) {
    SCOPED_TRACE(shape.describe());
    ASSERT_NO_THROW(shape.validate("test"));
    const Trace trace = partly_full(shape, 7, 1);
    const MacCounts forward = count_macs(trace.layers()[0], Operation::kForward);
    const MacCounts weight = count_macs(trace.layers()[0], Operation::kWeightGrad);
    EXPECT_EQ(forward.with_secondary, forward.macs);
    EXPECT_EQ(forward.effectual, forward.with_primary);
    EXPECT_EQ(weight.effectual, forward.effectual);
    if (shape.padding == Size2{0, 0}) {
      for (const Operation op : kOperations)
        EXPECT_EQ(count_macs(trace.layers()[0], op).effectual, forward.macs);
    }
  }
  // One position, one output and one pair per tap: by hand.
  const Trace border = partly_full(shapes[3], 7, 1);
  EXPECT_EQ(count_macs(border.layers()[0], Operation::kForward).effectual, kLarge);
}

// The streams' products, output by output, are the reference convolution: the mapping loses and doubles
// nothing.
TEST(OperandStreams, ProductsEqualReferenceConvolution) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{10, 6, 2});
    const Layer& layer = trace.layers()[0];
    const LayerValues values = layer_values(layer, seed);
    for (const Operation op : kOperations) {
      for (const int lanes : {4, 16, 33}) {
        for (const VisitOrder order : {VisitOrder::kRowMajor, VisitOrder::kColumnMajor}) {
          const std::vector<double> expected = reference_result(layer.shape, op, values);
          std::vector<float> got(expected.size(), 0.0F);
          std::vector<float> x(static_cast<std::size_t>(lanes)), y(static_cast<std::size_t>(lanes));
          for (const LaneProduct& product : lane_products(layer, op, lanes, order)) {
            ASSERT_EQ(product.primary.steps(), product.secondary.steps());
            for (std::int64_t i = 0; i < product.primary.count(); ++i) {
              for (std::int64_t j = 0; j < product.secondary.count(); ++j) {
                float sum = 0;
                for (std::int64_t step = 0; step < product.steps(); ++step) {
                  product.primary.values(i, step, values.of(product.primary.role), x.data());
                  product.secondary.values(j, step, values.of(product.secondary.role), y.data());
                  for (int lane = 0; lane < lanes; ++lane) sum += x[lane] * y[lane];
                }
                got[static_cast<std::size_t>(product.output_index(layer.shape, op, i, j))] += sum;
              }
            }
          }
          EXPECT_NO_THROW(check_against_reference(layer.shape, op, values, got));
        }
      }
    }
  }
}

TEST(OperandStreams, WordsAreTheNonZerosOfValues) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{40, 6, 2});
    const Layer& layer = trace.layers()[0];
    const LayerValues values = layer_values(layer, seed);
    for (const Operation op : kOperations) {
      const int lanes = seed % 2 == 0 ? 16 : 7;
      for (const LaneProduct& product : lane_products(layer, op, lanes)) {
        for (const OperandStreams* streams : {&product.primary, &product.secondary}) {
          std::vector<float> x(static_cast<std::size_t>(lanes));
          for (std::int64_t i = 0; i < streams->count(); ++i) {
            for (std::int64_t step = 0; step < streams->steps(); ++step) {
              const std::uint64_t nonzero = streams->values(i, step, values.of(streams->role), x.data());
              std::uint64_t bits = 0;
              for (int lane = 0; lane < lanes; ++lane) bits |= std::uint64_t{x[lane] != 0} << lane;
              ASSERT_EQ(streams->word(i, step), bits) << "seed " << seed;
              ASSERT_EQ(nonzero, bits) << "seed " << seed;
            }
          }
        }
      }
    }
  }
}

// Half precision keeps 11 significant bits and, as loss scaling would, every exponent.
TEST(LayerValues, MixedPrecisionRoundsTheSignificand) {
  const std::vector<std::pair<float, float>> cases{
      {1.0F, 1.0F},       {-2047.0F, -2047.0F},    {2049.0F, 2048.0F},  // ties to even
      {2051.0F, 2052.0F}, {1e-30F, 0x1.448p-100F}, {3e38F, 0x1.c38p127F}};
  for (const auto& [value, rounded] : cases) EXPECT_EQ(round_to_scaled_half(value), rounded) << value;
  EXPECT_TRUE(std::isnan(round_to_scaled_half(std::nanf(""))));
  // Products of two such numbers are exact in FP32.
  EXPECT_EQ(2047.0F * 2045.0F, 4186115.0F);
}

// A number too small for bfloat16 is not zero, since its mask says so.
TEST(LayerValues, RoundingMakesNoZeros) {
  const std::vector<float> tiny{1e-45F, -1e-45F, 0.0F, -0.0F, 1.0F, 1e-40F, 2e-38F, 1.005F};
  TraceBuilder builder("tiny");
  builder.add_layer("layer", LayerShape::linear(1, 8, 1)).values(Operand::kA, tiny);
  const Trace trace = builder.build();
  const LayerTensor& a = trace.layers()[0].a;
  for (const DataType type : {DataType::kBfloat16, DataType::kMixed}) {
    const LayerValues values = layer_values(trace.layers()[0], 1, type);
    for (std::int64_t c = 0; c < 8; ++c) {
      EXPECT_EQ(is_nonzero(values.a.at(0, c)), a.mask.bit(0, c)) << c;
      EXPECT_EQ(std::signbit(values.a.at(0, c)), std::signbit(tiny[static_cast<std::size_t>(c)])) << c;
    }
  }
  EXPECT_EQ(a.nonzeros, 6);
}

// The reference itself, against the six plain loops of the definition.
TEST(Reference, EqualsThePlainLoops) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const LayerShape shape = testing::random_shape(random, {10, 6, 2});
    const Trace trace = testing::random_trace(
        seed, shape, seed % 2 == 0 ? SyntheticContent::kMasks : SyntheticContent::kValues);
    const Layer& layer = trace.layers()[0];
    const LayerValues v = layer_values(layer, seed);
    std::vector<double> out(static_cast<std::size_t>(shape.g_elements())),
        in_grad(static_cast<std::size_t>(shape.a_elements())),
        w_grad(static_cast<std::size_t>(shape.w_elements()));
    for_each_triple(shape, [&](auto a_row, auto a_c, auto w_row, auto w_c, auto g_row, auto g_k) {
      if (a_row < 0) return;
      const double a = v.a.at(a_row, a_c), w = v.w.at(w_row, w_c), g = v.g.at(g_row, g_k);
      out[static_cast<std::size_t>(g_row * shape.k + g_k)] += a * w;
      in_grad[static_cast<std::size_t>(a_row * shape.c + a_c)] += w * g;
      w_grad[static_cast<std::size_t>(w_row * shape.c_per_group() + w_c)] += a * g;
    });
    EXPECT_EQ(reference_result(shape, Operation::kForward, v), out);
    EXPECT_EQ(reference_result(shape, Operation::kInputGrad, v), in_grad);
    EXPECT_EQ(reference_result(shape, Operation::kWeightGrad, v), w_grad);
  }
}

TEST(Reference, RejectsAWrongResult) {
  const Trace trace = testing::random_trace(3, LayerShape::conv2d(1, 8, 8, {5, 5}, {3, 3}));
  const Layer& layer = trace.layers()[0];
  const LayerValues values = layer_values(layer, 1);
  const std::vector<double> expected = reference_result(layer.shape, Operation::kForward, values);
  std::vector<float> wrong(expected.begin(), expected.end());
  wrong[5] += 1;
  EXPECT_THROW(check_against_reference(layer.shape, Operation::kForward, values, wrong), std::logic_error);
}

TEST(ChooseScheduled, SparserPrimaryAndNamed) {
  const auto layer_with = [](double a, double w, double g) {
    SyntheticSpec spec;
    spec.layers.push_back({"l", LayerShape::conv2d(1, 16, 16, {8, 8}, {3, 3}), 1, ZeroSpec::uniform(a),
                           ZeroSpec::uniform(w), ZeroSpec::uniform(g)});
    return make_synthetic(spec);
  };
  const Trace pruned = layer_with(0.3, 0.9, 0.6);
  EXPECT_EQ(choose_scheduled(pruned.layers()[0], Operation::kForward, OperandRule::kSparser), Operand::kW);
  EXPECT_EQ(choose_scheduled(pruned.layers()[0], Operation::kForward, OperandRule::kPrimary), Operand::kA);
  EXPECT_EQ(choose_scheduled(pruned.layers()[0], Operation::kWeightGrad, OperandRule::kPrimary), Operand::kG);
  EXPECT_EQ(choose_scheduled(pruned.layers()[0], Operation::kWeightGrad, Operand::kW), Operand::kG);
  const Trace tie = layer_with(0, 0, 0);
  EXPECT_EQ(choose_scheduled(tie.layers()[0], Operation::kForward, OperandRule::kSparser), Operand::kA);
  EXPECT_EQ(choose_scheduled(tie.layers()[0], Operation::kWeightGrad, OperandRule::kSparser), Operand::kG);
  const Trace activations = layer_with(0.6, 0, 0.2);
  EXPECT_EQ(choose_scheduled(activations.layers()[0], Operation::kWeightGrad, OperandRule::kPrimary),
            Operand::kA);
}

TEST(TileGrid, MinimisesDenseCyclesTiesToMoreTileRows) {
  const TileShape tile{4, 4, 16, 16};
  const TileGrid square = choose_grid(64, 64, tile);  // 16 x 16 groups: any grid is perfect
  EXPECT_EQ(square.tile_rows, 16);
  EXPECT_EQ(square.tile_columns, 1);
  const TileGrid few_rows = choose_grid(4, 1024, tile);  // one row group: all tiles on columns
  EXPECT_EQ(few_rows.tile_rows, 1);
  EXPECT_EQ(few_rows.dense_cycles(10), 10 * 1 * 16);
  const TileGrid odd = choose_grid(20, 12, tile);  // 5 x 3 groups on 16 tiles
  EXPECT_EQ(odd.row_groups_per_tile() * odd.column_groups_per_tile(), 1 * 2);
  EXPECT_EQ(odd.tile_rows, 8);
}

// Six row groups on three tile rows: the first image of three has no zeros.
TEST(TileClock, DealsRowGroups) {
  const std::int64_t costs[] = {9, 9, 3, 3, 3, 3};
  const auto cycles = [&](Dealing dealing, std::int64_t column_groups) {
    const TileShape tile{.rows = 1, .columns = 1, .tiles = 3, .dealing = dealing};
    TileGrid grid = choose_grid(6, column_groups, tile);
    EXPECT_EQ(grid.dense_cycles(9), 18 * column_groups);
    std::int64_t dealt = 0;
    for (std::int64_t i = 0; i < 3; ++i) dealt += grid.row_groups_of(i);
    EXPECT_EQ(dealt, 6);
    TileClock one_side(grid), pairs(grid);
    for (std::int64_t i = 0; i < 6; ++i) {
      one_side.add_row_group(i, costs[i]);
      for (std::int64_t j = 0; j < column_groups; ++j) pairs.add_pair(i, j, costs[i]);
    }
    EXPECT_EQ(one_side.cycles(), pairs.cycles());
    return one_side.cycles();
  };
  for (const std::int64_t columns : {1, 2}) {
    EXPECT_EQ(cycles(Dealing::kBlocks, columns), 18 * columns);  // 9 + 9, 3 + 3, 3 + 3
    EXPECT_EQ(cycles(Dealing::kTurns, columns), 12 * columns);   // 9 + 3, 9 + 3, 3 + 3
    EXPECT_EQ(cycles(Dealing::kQueue, columns), 12 * columns);   // 9, 9, 3 + 3 + 3 + 3
  }
}

// A tile that is free first has had at most as many groups as any other would with equal costs.
TEST(TileClock, NoDealingIsSlowerThanDense) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    const std::int64_t steps = random.integer(1, 30);
    const TileShape tile{.rows = 1,
                         .columns = 1,
                         .tiles = random.integer(1, 16),
                         .ties = random.chance(0.5) ? GridTies::kRows : GridTies::kSquare,
                         .dealing = static_cast<Dealing>(random.integer(0, 2))};
    const TileGrid grid = choose_grid(random.integer(1, 60), random.integer(1, 20), tile);
    TileClock clock(grid);
    std::int64_t busy = 0;
    for (std::int64_t i = 0; i < grid.row_groups; ++i) {
      for (std::int64_t j = 0; j < grid.column_groups; ++j) {
        const std::int64_t cycles = random.integer(0, steps);
        clock.add_pair(i, j, cycles);
        busy += cycles;
      }
    }
    const std::int64_t cycles = clock.cycles();
    EXPECT_LE(cycles, grid.dense_cycles(steps)) << "seed " << seed;
    EXPECT_GE(cycles * tile.tiles, busy) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lacuna
