// Whole operations of the outer-product machines against their rules, pair by pair: an oracle that knows one
// (image, kernel) pair, and the dealing of pairs to PEs written out once more. The forward product multiplies
// A_forward, the weight gradient A.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sim/outer_product/testing/machine_checks.hpp"
#include "sim/outer_product/testing/oracle.hpp"
#include "trace/trace_builder.hpp"
#include "traces/recorded_traces.hpp"

namespace lacuna {
namespace {

using testing::Matrix;
using testing::Oracle;
using testing::OracleAxis;
using testing::OracleGeometry;

// What an operation takes on 64 PEs of 4 x 4 multipliers.
struct Expected {
  std::int64_t cycles = 0, all = 0, useful = 0, executed = 0, steps = 0, bubbles = 0;
};

// The plane of one channel; `rows` of the tensor are [images, h, w].
Matrix plane(const MaskView& mask, std::int64_t image, Size2 size, std::int64_t channel) {
  Matrix bits;
  for (std::int64_t y = 0; y < size.h; ++y) {
    bits.emplace_back();
    for (std::int64_t x = 0; x < size.w; ++x)
      bits.back().push_back(mask.bit((image * size.h + y) * size.w + x, channel) ? 1 : 0);
  }
  return bits;
}

Matrix turned(const Matrix& kernel) {
  Matrix result(kernel.rbegin(), kernel.rend());
  for (auto& row : result) std::reverse(row.begin(), row.end());
  return result;
}

// One axis of the index map: of forward, input gradient, weight gradient.
OracleAxis axis(Operation op, std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                std::int64_t padding, std::int64_t dilation) {
  if (op == Operation::kForward) return {.e = 1, .d = dilation, .st = stride, .p = padding, .out = out};
  if (op == Operation::kInputGrad)
    return {.e = stride, .d = dilation, .st = 1, .p = dilation * (kernel - 1) - padding, .out = in};
  return {.e = 1, .d = stride, .st = dilation, .p = padding, .out = kernel};
}

// `forward`: A as the forward product multiplies it. `needed`: kernels of the input gradient whose plane of
// outputs lies under zeros of A alone are left out.
Expected expected(const Layer& layer, Operation op, const MaskView& forward, bool ant, bool fill_each_pair,
                  bool needed = false) {
  constexpr std::size_t kVector = 4, kPes = 64;
  constexpr std::int64_t kWindow = 16, kEmpty = 1;
  const std::int64_t fill = ant ? 5 : 2;
  const LayerShape& s = layer.shape;
  const OracleGeometry geometry{
      axis(op, s.input.h, s.output.h, s.kernel.h, s.stride.h, s.padding.h, s.dilation.h),
      axis(op, s.input.w, s.output.w, s.kernel.w, s.stride.w, s.padding.w, s.dilation.w)};
  const std::int64_t c_group = s.c / s.groups, k_group = s.k / s.groups;
  const bool of_gradients = op == Operation::kInputGrad;
  std::vector<std::int64_t> busy(kPes), time(kPes);
  std::size_t pair = 0;
  Expected sum;
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t group = 0; group < s.groups; ++group) {
      for (std::int64_t i = 0; i < (of_gradients ? k_group : c_group); ++i) {
        const std::int64_t channel = group * (of_gradients ? k_group : c_group) + i;
        const Matrix image =
            of_gradients ? plane(layer.g.mask, n, s.output, channel)
                         : plane(op == Operation::kForward ? forward : layer.a.mask, n, s.input, channel);
        for (std::int64_t j = 0; j < (of_gradients ? c_group : k_group); ++j, ++pair) {
          const std::int64_t k = group * k_group + j;
          const Matrix kernel = op == Operation::kForward ? plane(layer.w.mask, k, s.kernel, i)
                                : of_gradients            ? turned(plane(layer.w.mask, channel, s.kernel, j))
                                                          : plane(layer.g.mask, n, s.output, k);
          const Oracle oracle(image, kernel, geometry);
          if (oracle.image().n() == 0 || oracle.kernel().n() == 0) continue;
          if (needed && of_gradients) {
            bool any = false;
            for (const auto& row : plane(forward, n, s.input, group * c_group + j))
              any = any || std::ranges::count(row, 1) > 0;
            if (!any) continue;
          }
          const testing::OracleCounts counts =
              ant ? oracle.ant(kVector, kVector, kWindow, 0, kEmpty, 0) : oracle.scnn(kVector, kVector, 0, 0);
          busy[pair % kPes] += counts.cycles;
          time[pair % kPes] += counts.cycles + (fill_each_pair ? fill : 0);
          sum.all += static_cast<std::int64_t>(oracle.image().n() * oracle.kernel().n());
          sum.useful += counts.valid;
          sum.executed += counts.executed;
          sum.steps += counts.steps;
          sum.bubbles += counts.bubbles;
        }
      }
    }
  }
  for (std::size_t pe = 0; pe < kPes; ++pe)
    if (busy[pe] > 0) sum.cycles = std::max(sum.cycles, time[pe] + (fill_each_pair ? 0 : fill));
  return sum;
}

void check_layer(const Layer& layer) {
  for (const bool ant : {false, true}) {
    for (const bool fill_each_pair : {false, true}) {
      const auto machine = testing::make_machine(ant ? "ant" : "scnn",
                                                 {{"fill_scope", fill_each_pair ? "pair" : "operation"}});
      for (const Operation op : kOperations) {
        SCOPED_TRACE(layer.name + " " + std::string(operation_name(op)) + (ant ? " ant" : " scnn"));
        const MaskView& forward = layer.a_forward ? layer.a_forward->mask : layer.a.mask;
        const Expected want = expected(layer, op, forward, ant, fill_each_pair);
        const OpResult got = machine->simulate(layer.as_multiplied(op), op, {});
        EXPECT_EQ(got.cycles, want.cycles);
        EXPECT_EQ(testing::counter(got, "cartesian_products"), want.all);
        EXPECT_EQ(testing::counter(got, "useful_products"), want.useful);
        EXPECT_EQ(testing::counter(got, "executed_products"), want.executed);
        EXPECT_EQ(testing::counter(got, "steps"), want.steps);
        EXPECT_EQ(testing::counter(got, "bubbles"), want.bubbles);
      }
    }
  }
}

std::vector<bool> drawn(std::int64_t elements, double density, Random& random) {
  std::vector<bool> bits(static_cast<std::size_t>(elements));
  for (auto bit : bits) bit = random.uniform() < density;
  return bits;
}

TEST(OuterProductOracle, LayersWithActivationsOfTheirOwnInForward) {
  Random random(3);
  TraceBuilder builder("swat");
  builder.add_layer("first", LayerShape::conv2d(1, 3, 4, {5, 5}, {3, 3}));
  const LayerShape shapes[] = {LayerShape::conv2d(2, 6, 10, {9, 8}, {3, 3}, {1, 1}, {1, 1}),
                               LayerShape::conv2d(1, 8, 12, {11, 9}, {3, 2}, {2, 3}, {1, 0}),
                               LayerShape::conv2d(3, 9, 7, {6, 6}, {1, 1}),
                               LayerShape::conv2d(1, 4, 6, {13, 13}, {3, 3}, {1, 1}, {2, 2}, {2, 2}),
                               LayerShape::conv2d(2, 8, 12, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 2)};
  for (const LayerShape& shape : shapes) {
    builder.add_layer("l" + std::to_string(&shape - shapes), shape)
        .mask(Operand::kW, drawn(shape.w_elements(), 0.4, random))
        .mask(Operand::kG, drawn(shape.g_elements(), 0.2, random));
    std::vector<bool> all = drawn(shape.a_elements(), 0.6, random), kept = all;
    for (auto bit : kept) bit = bit && random.uniform() < 0.3;
    builder.mask(Operand::kA, kept).mask(kAForward, all);
  }
  const Trace trace = builder.build();
  for (std::size_t l = 1; l < trace.layers().size(); ++l) {
    const Layer& layer = trace.layers()[l];
    check_layer(layer);
    // With the other activations the expectation would be another.
    EXPECT_NE(expected(layer, Operation::kForward, layer.a.mask, true, false).all,
              expected(layer, Operation::kForward, layer.a_forward->mask, true, false).all);
  }
}

TEST(OuterProductOracle, KernelsOfUnneededPlanesAreLeftOut) {
  int left_out = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const LayerShape shape = LayerShape::conv2d(
        random.integer(1, 3), 2 * random.integer(1, 5), 2 * random.integer(1, 5),
        {random.integer(2, 5), random.integer(2, 5)}, {random.integer(1, 2), random.integer(1, 2)},
        {random.integer(1, 2), random.integer(1, 2)}, {random.integer(0, 1), random.integer(0, 1)}, {1, 1},
        random.integer(1, 2));
    TraceBuilder builder("needed");
    builder.add_layer("layer", shape)
        .mask(Operand::kA, drawn(shape.a_elements(), 0.1, random))
        .mask(Operand::kW, drawn(shape.w_elements(), 0.7, random))
        .mask(Operand::kG, drawn(shape.g_elements(), 0.5, random));
    const Trace trace = builder.build();
    const Layer& layer = trace.layers()[0];
    for (const bool ant : {false, true}) {
      SCOPED_TRACE(shape.describe() + (ant ? " ant" : " scnn"));
      const auto machine = testing::make_machine(ant ? "ant" : "scnn", {{"outputs", "needed"}});
      for (const Operation op : kOperations) {
        const Expected want = expected(layer, op, layer.a.mask, ant, false, true);
        const OpResult got = machine->simulate(layer, op, {});
        EXPECT_EQ(got.cycles, want.cycles);
        EXPECT_EQ(testing::counter(got, "cartesian_products"), want.all);
        EXPECT_EQ(testing::counter(got, "executed_products"), want.executed);
        EXPECT_LE(testing::counter(got, "useful_products"), want.useful);
        left_out += want.all < expected(layer, op, layer.a.mask, ant, false).all ? 1 : 0;
      }
    }
  }
  EXPECT_GT(left_out, 20);
}

// The smallest such layer of a recorded training.
TEST(OuterProductOracle, ARecordedLayerOfSwat) {
  const Trace trace = Trace::open(testing::shipped_trace("wrn16_8_cifar_resprop_swat90_p100"));
  const Layer* least = nullptr;
  for (const Layer& layer : trace.layers())
    if (layer.a_forward && !layer.shape.is_matrix() &&
        (least == nullptr || layer.shape.macs() < least->shape.macs()))
      least = &layer;
  ASSERT_NE(least, nullptr);
  EXPECT_GT(least->a.zeros(), least->a_forward->zeros());
  check_layer(*least);
}

}  // namespace
}  // namespace lacuna
