// The outer-product machines on every recorded trace: the laws of their counters, and ANT against the
// SCNN-like machine layer by layer.
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

#include "sim/outer_product/testing/machine_checks.hpp"
#include "sim/run_energy.hpp"
#include "sim/simulation.hpp"
#include "traces/recorded_traces.hpp"

namespace lacuna {
namespace {

RunResult run(const Trace& trace, const std::string& arch, const testing::Settings& settings = {}) {
  return simulate_trace(trace, *testing::make_machine(arch, settings), arch, {}, 0);
}

// Of every operation: finite, not negative, the sum of its parts; and of the run: more than nothing.
void check_energy(const RunResult& run) {
  ASSERT_TRUE(has_energy(run));
  const RunEnergy energy = run_energy(run, energy_table("", 0, *run.hardware));
  double sum = 0;
  for (const LayerEnergy& layer : energy.layers) {
    for (const OpEnergy& op : layer.ops) {
      double parts = 0;
      for (const ByComponent::Value& part : op.energy.machine.values) {
        EXPECT_TRUE(std::isfinite(part.value) && part.value >= 0) << part.name;
        parts += part.value;
      }
      EXPECT_NEAR(parts, op.energy.machine.total(), 1e-12 * parts);
      EXPECT_GT(op.energy.machine.of("dram"), 0);
      EXPECT_GT(op.energy.baseline.total(), 0);
      sum += parts;
    }
  }
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(sum, energy.all.machine.total(), 1e-9 * sum);
  EXPECT_GT(energy.all.chip_efficiency(), 0);
}

void check_trace(const Trace& trace, const testing::Settings& settings, bool bounded_by_scnn) {
  const RunResult scnn = run(trace, "scnn", settings);
  const RunResult ant = run(trace, "ant", settings);
  check_energy(scnn);
  check_energy(ant);
  for (std::size_t l = 0; l < ant.layers.size(); ++l) {
    for (std::size_t o = 0; o < ant.layers[l].ops.size(); ++o) {
      const OpResult& a = ant.layers[l].ops[o];
      const OpResult& s = scnn.layers[l].ops[o];
      SCOPED_TRACE(trace.path() + " " + ant.layers[l].name + " " + std::string(operation_name(a.op)));
      testing::check_laws(a, 1024, 4);
      testing::check_laws(s, 1024, 4);
      EXPECT_EQ(testing::counter(s, "rcps_anticipated"), 0);
      EXPECT_EQ(testing::counter(s, "bubbles"), 0);
      for (const char* same : {"cartesian_products", "useful_products", "rcps", "pairs", "halo_values"}) {
        EXPECT_EQ(testing::counter(a, same), testing::counter(s, same)) << same;
      }
      EXPECT_EQ(ant.baseline_op(l, o), scnn.baseline_op(l, o));
      if (bounded_by_scnn) {
        EXPECT_LE(a.cycles, s.cycles + 3);  // fill 5 against 2
      }
    }
  }
}

// Of a network that was recorded several times, one moment is enough here: the shapes are the same. With
// LACUNA_TRACES set, every one.
std::vector<std::filesystem::path> chosen_traces() {
  std::vector<std::filesystem::path> paths = testing::recorded_traces();
  if (std::getenv("LACUNA_TRACES") != nullptr) return paths;
  std::erase_if(paths, [](const std::filesystem::path& path) {
    const std::string name = testing::trace_name(path);
    return name.find("_series_") != std::string::npos || !name.ends_with("_p100");
  });
  return paths;
}

class OuterProductTrace : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(OuterProductTrace, LawsHoldAndAntNeverLosesMoreThanItsFill) {
  check_trace(Trace::open(GetParam()), {}, true);
}

INSTANTIATE_TEST_SUITE_P(Recorded, OuterProductTrace, ::testing::ValuesIn(chosen_traces()),
                         [](const auto& param) { return testing::trace_name(param.param); });

TEST(OuterProductTop90, LawsHoldWithTilesAndConflicts) {
  const Trace trace = Trace::open(testing::shipped_trace("resnet18_top90_p100"));
  check_trace(trace, {{"mapping", "scnn-tiles"}}, false);
  check_trace(trace, {{"conflicts", "on"}}, false);
  check_trace(trace, {{"fill_scope", "pair"}}, false);
}

// [ANT abstract: over 90 % of RCPs are anticipated in sparse training]
TEST(OuterProductTop90, MoreThanNineTenthsOfRedundantProductsAreRemoved) {
  for (const char* name : {"densenet121_top90_p100", "resnet18_top90_p100", "resnet50_top90_p100"}) {
    const RunResult ant = run(Trace::open(testing::shipped_trace(name)), "ant");
    std::int64_t rcps = 0, removed = 0;
    for (const LayerResult& layer : ant.layers) {
      for (const OpResult& result : layer.ops) {
        rcps += testing::counter(result, "rcps");
        removed += testing::counter(result, "rcps_anticipated");
      }
    }
    EXPECT_GT(removed, rcps / 10 * 9) << name;
  }
}

// A recorded layer's values through both machines' functional engines: small enough to multiply every
// product.
TEST(OuterProductTraces, FunctionalEngineOnRecordedLayers) {
  const Trace trace = Trace::open(testing::shipped_trace("squeezenet_p100"));
  int checked = 0;
  for (const Layer& layer : trace.layers()) {
    if (layer.shape.macs() > 12'000'000) continue;
    ++checked;
    for (const char* arch : {"scnn", "ant"}) {
      for (const Operation op : kOperations) {
        const OpResult fast = testing::simulate_one(arch, {}, layer, op);
        if (testing::counter(fast, "executed_products") > 300'000'000) continue;
        EXPECT_TRUE(fast == testing::simulate_one(arch, {}, layer, op, {Engine::kFunctional, 3}))
            << layer.name << " " << operation_name(op);
      }
    }
    if (checked == 3) break;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace lacuna
