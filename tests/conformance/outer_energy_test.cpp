// Energy of the SCNN-like and ANT machines, from the layer to joules.
#include <cmath>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "sim/outer_product/testing/machine_checks.hpp"
#include "sim/run_energy.hpp"
#include "sim/simulation.hpp"

namespace lacuna {
namespace {

using testing::Settings;

RunResult run(const Trace& trace, const std::string& arch, const Settings& settings = {},
              Engine engine = Engine::kFast) {
  return simulate_trace(trace, *testing::make_machine(arch, settings), arch, {.engine = engine}, 1);
}
// Reading a table takes longer than a small layer.
const CostTable& table_of(const std::string& data_type) {
  static const CostTable kFp32 = CostTable::of_data_type("fp32");
  static const CostTable kBfloat16 = CostTable::of_data_type("bfloat16");
  return data_type == "fp32" ? kFp32 : kBfloat16;
}
double cost(std::string_view part, std::string_view action) {
  return table_of("fp32").find(part, action)->si();
}
RunEnergy energy(const RunResult& result) { return run_energy(result, table_of(result.hardware->data_type)); }

// One channel of 3 x 3 without zeros, 65 filters of 3 x 3, padding 1, FP32, one sample. By hand: each of 65
// pairs has 9 x 9 products, of which 7 x 7 belong to an output, in 3 x 3 steps; 64 PEs need 2 x 9 + 2 cycles.
TEST(OuterEnergyByHand, ScnnForward) {
  const Trace trace = testing::dense_trace(LayerShape::conv2d(1, 1, 65, {3, 3}, {3, 3}, {1, 1}, {1, 1}));
  const auto forward = [&](const Settings& settings) {
    return energy(run(trace, "scnn", settings)).layers[0].ops[0].energy.machine;
  };
  const ByComponent clocked = forward({});
  EXPECT_DOUBLE_EQ(clocked.of("multipliers"),
                   1024 * 20 * (cost("multiplier", "cycle") + cost("adder", "cycle")));
  EXPECT_DOUBLE_EQ(clocked.of("coordinates"), 1024 * 20 * cost("coordinate", "product"));
  EXPECT_DOUBLE_EQ(clocked.of("crossbar"), 1024 * 20 * cost("crossbar", "transfer"));
  EXPECT_EQ(clocked.of("range_search"), 0);
  const ByComponent gated = forward({{"idle_logic", "gated"}});
  EXPECT_DOUBLE_EQ(gated.of("multipliers"),
                   65 * 81 * cost("multiplier", "cycle") + 65 * 49 * cost("adder", "cycle"));
  EXPECT_DOUBLE_EQ(gated.of("coordinates"), 65 * 81 * cost("coordinate", "product"));
  EXPECT_DOUBLE_EQ(gated.of("crossbar"), 65 * 49 * cost("crossbar", "transfer"));
  EXPECT_EQ(gated.of("range_search"), 0);
  for (const ByComponent* e : {&clocked, &gated}) {
    // One update per useful product; 65 x 9 outputs drained.
    EXPECT_DOUBLE_EQ(e->of("accumulators"),
                     65 * 49 * (cost("accumulator", "read") + cost("accumulator", "write")) +
                         65 * 9 * cost("accumulator", "read"));
    // A pair reads its 9 image values once and its 9 weights for each of 3 image vectors. The image is
    // brought to all 64 PEs, each filter to one.
    EXPECT_DOUBLE_EQ(e->of("operand_rams"),
                     65 * 9 * (cost("operand_ram", "read") + cost("index_ram", "read")) +
                         65 * 27 * (cost("kernel_buffer", "read") + cost("index_ram", "read")) +
                         (64 * 9 + 65 * 9) * (cost("operand_ram", "write") + cost("index_ram", "write")));
    EXPECT_DOUBLE_EQ(e->of("output_rams"),
                     65 * 9 * (cost("operand_ram", "write") + cost("operand_ram", "read")));
    // Values of 4 B with indices of 2 B in rows of 64 B: 9 values are 1 row, 585 are 55.
    EXPECT_DOUBLE_EQ(e->of("sram"),
                     (1 + 55 + 55) * (cost("sram", "read")) + (1 + 55 + 55) * cost("sram", "write"));
    // The bus: values and one bit per value: 38 B, twice 2,340 + 74 B; pages of 2,048 B.
    EXPECT_DOUBLE_EQ(e->of("dram"), 8 * (38 + 2 * 2414) * cost("dram", "bit") + (1 + 2 + 2) * 1.205e-9);
    EXPECT_DOUBLE_EQ(e->of("dram_static"), 0.3 * 20 / 500e6);
  }
}

// ant_test's Ant.MatrixMultiplicationByHand: 5 PEs see the vectors {k0 k0 k1 k1} and {k2 k2} against 2 and 1
// kernel elements; 7 cycles.
TEST(OuterEnergyByHand, AntMatrixMultiplication) {
  const Trace trace = testing::dense_trace(LayerShape::linear(2, 3, 5));
  const auto forward = [&](const Settings& settings) {
    return energy(run(trace, "ant", settings)).layers[0].ops[0].energy.machine;
  };
  EXPECT_DOUBLE_EQ(forward({}).of("range_search"),
                   64 * 7 * (cost("range", "vector") + 16 * cost("search", "index")));
  const ByComponent gated = forward({{"idle_logic", "gated"}});
  EXPECT_DOUBLE_EQ(gated.of("range_search"), 5 * (2 * cost("range", "vector") + 3 * cost("search", "index")));
  EXPECT_DOUBLE_EQ(gated.of("multipliers"),
                   5 * (10 * cost("multiplier", "cycle") + 6 * cost("adder", "cycle")));
  // A PE: 6 image values with indices, 3 kernel values, 3 indices of the search, 2 x 2 row pointers; the
  // image of 6 to 5 PEs, the kernel's 15 to one each.
  EXPECT_DOUBLE_EQ(
      gated.of("operand_rams"),
      5 * (6 * (cost("operand_ram", "read") + cost("index_ram", "read")) + 3 * cost("kernel_buffer", "read") +
           3 * cost("index_window", "read") + 4 * cost("index_ram", "read")) +
          (5 * 6 + 15) * (cost("operand_ram", "write") + cost("index_ram", "write")));
}

// A weight gradient adds up R x S sums for each pair of planes.
TEST(OuterEnergyByHand, DrainsOfAWeightGradient) {
  const Trace trace = testing::dense_trace(LayerShape::conv2d(2, 3, 5, {4, 4}, {3, 3}, {1, 1}, {1, 1}));
  const OpResult result = testing::simulate_one("scnn", {}, trace.layers()[0], Operation::kWeightGrad);
  EXPECT_EQ(testing::counter(result, "drained_values"), 2 * 3 * 5 * 9);
  const OpResult forward = testing::simulate_one("scnn", {}, trace.layers()[0], Operation::kForward);
  EXPECT_EQ(testing::counter(forward, "drained_values"), 2 * 5 * 16);
  // A plane of A to the PEs of its 5 pairs; a plane of G to those of its 3.
  EXPECT_EQ(testing::counter(result, "operand_values_loaded"), 2 * 3 * 16 * 5 + 2 * 5 * 16 * 3);
  // Weights are sent again for each sample.
  EXPECT_EQ(testing::counter(forward, "operand_values_loaded"), 2 * 3 * 16 * 5 + 2 * 3 * 5 * 9);
}

class OuterMachine : public ::testing::TestWithParam<std::string> {};

TEST_P(OuterMachine, EnergyIsTheSumOfItsPartsAndBothEnginesAgree) {
  for (std::uint64_t seed = 1; seed <= random_cases(60); ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{20, 7, 2});
    for (const Settings& settings : testing::varied_settings(GetParam())) {
      const RunEnergy fast = energy(run(trace, GetParam(), settings));
      const RunEnergy functional = energy(run(trace, GetParam(), settings, Engine::kFunctional));
      ASSERT_EQ(fast.all.machine, functional.all.machine);
      ASSERT_EQ(fast.all.baseline, functional.all.baseline);
      EnergyComparison sum;
      for (const LayerEnergy& layer : fast.layers) {
        for (const OpEnergy& op : layer.ops) sum += op.energy;
      }
      double total = 0;
      for (const ByComponent::Value& part : sum.machine.values) {
        ASSERT_TRUE(std::isfinite(part.value) && part.value >= 0);
        ASSERT_NEAR(part.value, fast.all.machine.of(part.name), 1e-12 * part.value);
        total += part.value;
      }
      ASSERT_GT(total, 0);
      ASSERT_NEAR(total, fast.all.machine.total(), 1e-12 * total);
    }
  }
}

// Gated logic cannot cost more than logic clocked all the time; memories do not care.
TEST_P(OuterMachine, GatedLogicCostsNoMore) {
  for (std::uint64_t seed = 1; seed <= random_cases(100); ++seed) {
    const Trace trace = testing::random_trace(seed);
    const ByComponent clocked = energy(run(trace, GetParam())).all.machine;
    const ByComponent gated = energy(run(trace, GetParam(), {{"idle_logic", "gated"}})).all.machine;
    for (const ByComponent::Value& part : clocked.values) {
      if (part.group == ComponentGroup::kCore) {
        ASSERT_LE(gated.of(part.name), part.value * (1 + 1e-12)) << part.name;
      } else {
        ASSERT_EQ(gated.of(part.name), part.value) << part.name;
      }
    }
  }
}

TEST_P(OuterMachine, MoreZerosNeverCostMore) {
  for (const LayerShape& shape :
       {LayerShape::conv2d(1, 48, 64, {14, 14}, {3, 3}, {1, 1}, {1, 1}),
        LayerShape::conv2d(1, 64, 128, {14, 14}, {1, 1}, {2, 2}), LayerShape::linear(32, 200, 300)}) {
    for (const char* idle : {"clocked", "gated"}) {
      std::array<double, kOperations.size()> before{};
      before.fill(1e9);
      for (const double zeros : {0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.99}) {
        const ZeroSpec spec = zeros > 0 ? ZeroSpec::uniform(zeros) : ZeroSpec::dense();
        SyntheticSpec synthetic;
        synthetic.layers = {{"first", shape, 1, spec, spec, spec}, {"layer", shape, 1, spec, spec, spec}};
        const RunEnergy now = energy(run(make_synthetic(synthetic), GetParam(), {{"idle_logic", idle}}));
        for (std::size_t op = 0; op < before.size(); ++op) {
          const double joules = now.layers[1].ops[op].energy.machine.total();
          EXPECT_LT(joules, before[op]) << idle << " " << zeros << " " << shape.describe();
          before[op] = joules;
        }
      }
    }
  }
}

// The baseline of an outer-product machine is a run of the dense machine with the same number of
// multipliers.
TEST_P(OuterMachine, ReferenceIsTheDenseMachinesRun) {
  for (std::uint64_t seed = 1; seed <= random_cases(30); ++seed) {
    const Trace trace = testing::random_trace(seed);
    for (const Settings& settings : std::vector<Settings>{{},
                                                          {{"memory", "modelled"}},
                                                          {{"arithmetic", "bfloat16"}},
                                                          {{"dram_compression", "off"}},
                                                          {{"frequency_mhz", "1000"}}}) {
      Settings tiles = settings;
      tiles.emplace_back("tiles", "4");
      const RunResult dense = run(trace, "dense", tiles);
      const RunResult outer = run(trace, GetParam(), settings);
      ASSERT_EQ(energy(outer).all.baseline, energy(dense).all.machine) << "seed " << seed;
      ASSERT_EQ(outer.total().all.baseline_cycles, dense.total().all.cycles);
    }
  }
}

// memory=modelled adds waiting for DRAM and nothing else.
TEST_P(OuterMachine, ModelledMemoryOnlyAddsWaiting) {
  bool waited = false;
  for (std::uint64_t seed = 1; seed <= random_cases(100); ++seed) {
    const Trace trace = testing::random_trace(seed);
    for (const Operation op : kOperations) {
      const OpResult ideal = testing::simulate_one(GetParam(), {{"dram_mts", "100"}}, trace.layers()[0], op);
      const OpResult modelled = testing::simulate_one(
          GetParam(), {{"dram_mts", "100"}, {"memory", "modelled"}}, trace.layers()[0], op);
      ASSERT_EQ(modelled.counters, ideal.counters);
      ASSERT_EQ(modelled.activity->compute_cycles, ideal.cycles);
      ASSERT_EQ(modelled.cycles, std::max(ideal.cycles, ideal.activity->dram_cycles));
      ASSERT_EQ(modelled.activity->bound == Bound::kDram, modelled.cycles > ideal.cycles);
      waited = waited || modelled.cycles > ideal.cycles;
    }
  }
  EXPECT_TRUE(waited);
}

INSTANTIATE_TEST_SUITE_P(Machines, OuterMachine, ::testing::Values("scnn", "ant"),
                         [](const ::testing::TestParamInfo<std::string>& name) { return name.param; });

// The same layer is the same memory traffic around the PEs, and the same useful work in them.
TEST(OuterMachines, DifferOnlyInTheirPes) {
  for (std::uint64_t seed = 1; seed <= random_cases(60); ++seed) {
    const Trace trace = testing::random_trace(seed);
    const ByComponent scnn = energy(run(trace, "scnn", {{"idle_logic", "gated"}})).all.machine;
    const ByComponent ant = energy(run(trace, "ant", {{"idle_logic", "gated"}})).all.machine;
    for (const char* same : {"sram", "dram", "accumulators", "output_rams", "crossbar"}) {
      ASSERT_EQ(ant.of(same), scnn.of(same)) << same << " seed " << seed;
    }
    ASSERT_LE(ant.of("multipliers"), scnn.of("multipliers"));
    ASSERT_EQ(scnn.of("range_search"), 0);
  }
}

// DRAM carries what it carries for the machines of tiles.
TEST(OuterMachines, DramTrafficIsThatOfTheTiles) {
  for (std::uint64_t seed = 1; seed <= random_cases(60); ++seed) {
    const Trace trace = testing::random_trace(seed);
    for (const Operation op : kOperations) {
      const OpResult dense = testing::simulate_one("dense", {}, trace.layers()[0], op);
      const OpResult ant = testing::simulate_one("ant", {}, trace.layers()[0], op);
      for (const auto part : {&Activity::samples, &Activity::weights}) {
        const TensorTraffic &a = (*ant.activity).*part, &d = (*dense.activity).*part;
        ASSERT_EQ(a.dram_read_bytes, d.dram_read_bytes);
        ASSERT_EQ(a.dram_write_bytes, d.dram_write_bytes);
        ASSERT_EQ(a.dram_activations, d.dram_activations);
      }
    }
  }
}

}  // namespace
}  // namespace lacuna
