// Products of two activations and recurrent layers on every machine. Taken apart they are linear layers,
// which other suites compare with second implementations: here a layer must cost what its parts cost.
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna {
namespace {

using testing::make_machine;

// Rows and channels of a tensor, as the mask of a smaller one.
std::vector<bool> cut(const LayerTensor& tensor, std::int64_t row0, std::int64_t rows, std::int64_t channel0,
                      std::int64_t channels) {
  std::vector<bool> mask;
  for (std::int64_t r = row0; r < row0 + rows; ++r)
    for (std::int64_t c = channel0; c < channel0 + channels; ++c) mask.push_back(tensor.mask.bit(r, c));
  return mask;
}

// The linear layers that an operation consists of.
Trace taken_apart(const Layer& layer, Operation op) {
  const LayerShape& s = layer.shape;
  const std::int64_t c = s.c / s.groups, k = s.k / s.groups;
  const std::int64_t times = op == Operation::kWeightGrad ? 1 : s.sequence, rows = s.n / times;
  TraceBuilder builder("parts");
  for (std::int64_t t = 0; t < times; ++t) {
    for (std::int64_t p = 0; p < s.groups; ++p) {
      builder.add_layer(fmt::format("{}.{}", t, p), LayerShape::linear(rows, c, k))
          .mask(Operand::kA, cut(layer.a, t * rows, rows, p * c, c))
          .mask(Operand::kW, cut(layer.w, p * k, k, 0, c))
          .mask(Operand::kG, cut(layer.g, t * rows, rows, p * k, k));
    }
  }
  return builder.build();
}

class ProductsOn : public ::testing::TestWithParam<std::string> {
 protected:
  // The operand on the rows must not depend on the part.
  static std::unique_ptr<Accelerator> machine() {
    const AcceleratorModel* model = AcceleratorRegistry::instance().find(GetParam());
    testing::Settings settings;
    for (const ParamSpec& spec : model->params)
      if (spec.name == "schedule") settings.emplace_back("schedule", "A");
    return make_machine(GetParam(), settings);
  }
};

// The functional engine compares its values with the reference and throws if they differ.
TEST_P(ProductsOn, EnginesAgreeAndValuesEqualTheReference) {
  const auto m = make_machine(GetParam());
  for (std::uint64_t seed = 1; seed <= random_cases(60); ++seed) {
    const Trace trace =
        testing::random_products(seed, seed % 3 == 0 ? SyntheticContent::kValues : SyntheticContent::kMasks);
    const Layer& layer = trace.layers()[0];
    for (const Operation op : kOperations) {
      SCOPED_TRACE(fmt::format("seed {} {} {}", seed, layer.shape.describe(), operation_name(op)));
      const OpResult functional = m->simulate(layer, op, {Engine::kFunctional, seed});
      ASSERT_EQ(functional, m->simulate(layer, op, {Engine::kFast, seed}));
      ASSERT_EQ(functional.macs, layer.shape.macs());
    }
  }
}

TEST_P(ProductsOn, CostWhatTheirPartsCost) {
  const auto m = machine();
  const bool outer = GetParam() == "scnn" || GetParam() == "ant";
  for (std::uint64_t seed = 1; seed <= random_cases(80); ++seed) {
    const Trace trace = testing::random_products(seed);
    const Layer& layer = trace.layers()[0];
    const bool recurrent = layer.shape.sequence > 1;
    for (const Operation op : kOperations) {
      SCOPED_TRACE(fmt::format("seed {} {} {}", seed, layer.shape.describe(), operation_name(op)));
      const OpResult whole = m->simulate(layer, op);
      const Trace parts = taken_apart(layer, op);
      OpResult sum = m->simulate(parts.layers()[0], op);
      for (std::size_t i = 1; i < parts.layers().size(); ++i) {
        const OpResult part = m->simulate(parts.layers()[i], op);
        sum.macs += part.macs;
        sum.scheduled_macs += part.scheduled_macs;
        sum.effectual_macs += part.effectual_macs;
        sum.cycles += part.cycles;
        for (std::size_t c = 0; c < sum.counters.size(); ++c) sum.counters[c].value += part.counters[c].value;
      }
      ASSERT_EQ(whole.macs, sum.macs);
      ASSERT_EQ(whole.scheduled_macs, sum.scheduled_macs);
      ASSERT_EQ(whole.effectual_macs, sum.effectual_macs);
      // PEs of an outer-product machine need not wait for the end of a product, only for that of a time step.
      if (outer && !recurrent) {
        ASSERT_LE(whole.cycles, sum.cycles);
        for (const char* name : {"pairs", "cartesian_products", "executed_products", "steps", "bubbles",
                                 "ranges_computed", "image_values_read", "kernel_values_read"})
          ASSERT_EQ(testing::counter(whole, name), testing::counter(sum, name)) << name;
        continue;
      }
      ASSERT_EQ(whole.cycles, sum.cycles);
      if (outer || (recurrent && GetParam() == "structured-2of4")) continue;  // W is loaded, or pruned, once
      for (std::size_t c = 0; c < sum.counters.size(); ++c)
        ASSERT_EQ(whole.counters[c].value, sum.counters[c].value) << sum.counters[c].name;
    }
  }
}

// On one PE there is nobody to wait for: the cycles of the products, and one filling of the pipe.
TEST(OuterProducts, OfAMatmulFollowEachOtherWithoutGaps) {
  for (const char* name : {"scnn", "ant"}) {
    const auto m = make_machine(name, {{"multipliers", "256"}, {"n", "16"}});
    const Trace trace = testing::random_trace(7, LayerShape::matmul(4, 9, 21, 13));
    for (const Operation op : kOperations) {
      const OpResult whole = m->simulate(trace.layers()[0], op);
      const Trace parts = taken_apart(trace.layers()[0], op);
      std::int64_t cycles = 0, fill = 0;
      for (const Layer& part : parts.layers()) {
        const OpResult result = m->simulate(part, op);
        fill = testing::counter(result, "fill_cycles");
        cycles += result.cycles - fill;
      }
      EXPECT_EQ(whole.cycles, cycles + fill) << name << " " << operation_name(op);
    }
  }
}

// Both factors of a matmul belong to a sample, weights to the batch.
TEST_P(ProductsOn, MoveNoWeightsWithoutWeights) {
  const auto m = make_machine(GetParam());
  const Trace matmul = testing::random_trace(3, LayerShape::matmul(3, 9, 20, 17));
  const Trace recurrent = testing::random_trace(3, LayerShape::recurrent(3, 4, 20, 17));
  for (const Operation op : kOperations) {
    SCOPED_TRACE(operation_name(op));
    const OpResult without = m->simulate(OperationWork(matmul.layers()[0], op, 8), {});
    EXPECT_EQ(without.activity->weights, TensorTraffic{});
    EXPECT_GT(without.activity->samples.dram_read_bytes, 0);
    const OpResult with = m->simulate(OperationWork(recurrent.layers()[0], op, 8), {});
    EXPECT_NE(with.activity->weights, TensorTraffic{});
  }
}

// A machine loses when few rows come at a time.
TEST(RecurrentLayers, TakeLongerThanTheSameRowsTogether) {
  const auto dense = make_machine("dense");
  const Trace together = testing::dense_trace(LayerShape::linear(64, 64, 64));
  const Trace in_steps = testing::random_trace(1, LayerShape::recurrent(32, 2, 64, 64));
  const auto cycles = [&](const Trace& trace, Operation op) {
    return dense->simulate(trace.layers()[0], op).cycles;
  };
  // 2 rows of 64 channels against 64 filters: 16 groups of 4 filters and half a group of rows, 4 steps each,
  // on 16 tiles.
  EXPECT_EQ(cycles(in_steps, Operation::kForward), 32 * 4);
  EXPECT_EQ(cycles(together, Operation::kForward), 16 * 4);
  EXPECT_EQ(cycles(in_steps, Operation::kInputGrad), 32 * 4);
  EXPECT_EQ(cycles(in_steps, Operation::kWeightGrad), cycles(together, Operation::kWeightGrad));
}

INSTANTIATE_TEST_SUITE_P(Models, ProductsOn, ::testing::ValuesIn(ArchCatalog().model_names()),
                         [](const ::testing::TestParamInfo<std::string>& model) {
                           std::string name = model.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace lacuna
