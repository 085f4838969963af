// Laws of every accelerator: this suite runs over all registered models.
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "base/work_progress.hpp"
#include "conformance/model_checks.hpp"
#include "conformance/possible_machine.hpp"
#include "sim/accelerator.hpp"
#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Accelerator> machine() const { return testing::make_machine(GetParam()); }
};

// The functional engine compares its values with the reference convolution and throws if they differ.
TEST_P(EveryModel, EnginesAgreeAndValuesEqualTheReference) {
  EXPECT_EQ(testing::check_engines_agree(*machine(), random_cases(250)), "");
}

// Its cycles and counts are those of what it executes.
TEST_P(EveryModel, TheFunctionalEngineGoesByValues) {
  const auto m = machine();
  const testing::ValuesCheck check = testing::check_executes_values(*m, 100);
  EXPECT_EQ(check.wrong, "");
  if (m->baseline()) {
    EXPECT_GT(check.telling, 20);
  }
}

TEST_P(EveryModel, CountersMakeSense) {
  EXPECT_EQ(testing::check_counters(*machine(), random_cases(250)), "");
}

// Nothing is faster, or takes less energy, than its hardware can be.
TEST_P(EveryModel, IsPossible) {
  const auto m = machine();
  // Whole matrices give outer products that fit no output; one index of the sum at a time fills them.
  const bool outer =
      std::ranges::find(m->params().specs(), "linear", &ParamSpec::name) != m->params().specs().end();
  const testing::ThroughputCheck throughput = testing::check_throughput(*testing::make_machine(
      GetParam(), outer ? testing::Settings{{"linear", "channels"}} : testing::Settings{}));
  EXPECT_EQ(throughput.wrong, "");
  EXPECT_GT(throughput.fullest, 0.5) << "half the cycles would not be noticed";
  EXPECT_EQ(testing::check_actions(*m), "");
  EXPECT_EQ(testing::check_parts_are_used(*m), "");
  EXPECT_EQ(testing::check_depends_on_the_layer_alone(*m), "");
  EXPECT_EQ(
      testing::check_memory_takes_time(*m, *testing::make_machine(GetParam(), {{"memory", "modelled"}})), "");
}

// The smallest machine of a model, which random layers fill.
testing::Settings smallest(const std::string& model) {
  testing::Settings settings;
  for (const ParamSpec& spec : AcceleratorRegistry::instance().find(model)->params) {
    if (spec.name == "tiles") settings.emplace_back("tiles", "1");
    if (spec.name == "multipliers") settings.emplace_back("multipliers", "256");
    if (spec.name == "units") settings.insert(settings.end(), {{"units", "256"}, {"cluster_units", "32"}});
    if (spec.name == "linear") settings.emplace_back("linear", "channels");
  }
  return settings;
}

// What is left after skipping takes a multiplier for a cycle, and so does every product of two operands that
// an outer-product machine makes, of use or not.
TEST_P(EveryModel, MakesNoMoreProductsThanItHasMultipliersFor) {
  const auto m = testing::make_machine(GetParam(), smallest(GetParam()));
  const double multipliers = m->hardware()->total("multipliers");
  double fullest = 0;
  for (std::uint64_t seed = 1; seed <= random_cases(1000); ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{40, 9, 3});
    for (const Operation op : kOperations) {
      const OpResult result = m->simulate(trace.layers()[0], op);
      // A machine that skips nothing counts MACs with the zeros between the rows of a strided gradient.
      const bool skips = result.scheduled != ScheduledOperands();
      std::int64_t products = skips ? result.scheduled_macs : result.effectual_macs;
      for (const Counter& counter : result.counters) {
        if (counter.name == "executed_products") products = std::max(products, counter.value);
      }
      const double slots = static_cast<double>(result.cycles) * multipliers;
      ASSERT_LE(static_cast<double>(products), slots)
          << GetParam() << " seed " << seed << " " << operation_name(op);
      if (slots > 0) fullest = std::max(fullest, static_cast<double>(products) / slots);
    }
  }
  EXPECT_GT(fullest, 0.5) << "half the cycles would not be noticed";
}

TEST_P(EveryModel, ResultsDoNotDependOnThreads) {
  SyntheticSpec spec;
  for (int i = 0; i < 4; ++i) {
    spec.layers.push_back({"layer" + std::to_string(i),
                           LayerShape::conv2d(2, 24, 40, {14, 14}, {3, 3}, {1, 1}, {1, 1}), 1,
                           ZeroSpec::uniform(0.6), ZeroSpec::uniform(0.3), ZeroSpec::uniform(0.8)});
  }
  const Trace trace = make_synthetic(spec);
  const auto m = machine();
  const RunResult one = simulate_trace(trace, *m, GetParam(), {}, 1);
  for (const int threads : {2, 3, 7}) {
    const RunResult many = simulate_trace(trace, *m, GetParam(), {}, threads);
    for (std::size_t i = 0; i < one.layers.size(); ++i) ASSERT_EQ(many.layers[i].ops, one.layers[i].ops);
  }
}

// Inside one operation a machine reports its progress, and stops when it is told to: its loops are in_steps()
// or parallel_for().
TEST_P(EveryModel, IsWatchedAndStoppedInsideAnOperation) {
  const auto m = machine();
  const auto check = [&](Engine engine, const LayerShape& shape) {
    const Trace trace = testing::random_trace(1, shape);
    double earliest = 1;
    for (const Operation op : kOperations) {
      SCOPED_TRACE(
          fmt::format("{} {} {} {}", GetParam(), engine_name(engine), shape.describe(), operation_name(op)));
      const OperationWork work(trace.layers()[0], op);
      std::vector<double> seen;
      int asked = 0, limit = 1 << 30;
      const std::function<void(double)> progress = [&](double share) { seen.push_back(share); };
      const std::function<bool()> stop = [&] { return ++asked > limit; };
      const auto run = [&] {
        WorkMeter meter(progress, stop);
        const WorkPart part(meter, 1);
        return m->simulate(work, {.engine = engine});
      };
      const OpResult watched = run();
      EXPECT_EQ(watched, m->simulate(work, {.engine = engine}));
      ASSERT_FALSE(seen.empty());
      EXPECT_NEAR(seen.back(), 1, 0.01);
      earliest = std::min(earliest, seen.front());
      // An operation whose zeros a machine does not skip needs no loop in the fast engine.
      if (asked == 0 && engine == Engine::kFast) continue;
      ASSERT_GE(asked, 2);
      limit = asked / 2;
      asked = 0;
      EXPECT_THROW(run(), Stopped);
    }
    // A small operation may be one block of the fast engine.
    if (engine == Engine::kFunctional || shape.taps() > 1) {
      EXPECT_LT(earliest, 0.7) << GetParam() << " " << engine_name(engine) << " " << shape.describe();
    }
  };
  // What needs no loop over the layer is done at once: there is nothing to watch.
  if (m->baseline()) {
    check(Engine::kFast, LayerShape::conv2d(1, 20, 20, {56, 56}, {3, 3}, {1, 1}, {1, 1}));
    check(Engine::kFast, LayerShape::linear(64, 200, 150));
  }
  check(Engine::kFunctional, LayerShape::conv2d(1, 4, 6, {12, 12}, {3, 3}, {1, 1}, {1, 1}));
  check(Engine::kFunctional, LayerShape::linear(8, 60, 50));
}

// A recording of the same shape without zeros: masks are written out and happen to hold ones alone, so that
// no shortcut of an engine applies.
Trace recording_of_ones(const Layer& like) {
  const auto ones = [](const LayerTensor& t) {
    return std::vector<bool>(static_cast<std::size_t>(t.elements()), true);
  };
  TraceBuilder builder("ones");
  builder.add_layer("layer", like.shape)
      .mask(Operand::kA, ones(like.a))
      .mask(Operand::kW, ones(like.w))
      .mask(Operand::kG, ones(like.g));
  return builder.build();
}

// On any layer, with ideal memory and with the machine's own:
// - a network without zeros gains exactly nothing from zeros;
// - 'from zeros' is what a run on the network without its zeros says, cycles and actions;
// - the two factors give the speedup.
TEST_P(EveryModel, FromZerosIsWhatARunWithoutZerosSays) {
  const auto ideal = machine();
  const auto modelled = testing::make_machine(GetParam(), {{"memory", "modelled"}});
  int told_apart = 0;
  for (std::uint64_t seed = 1; seed <= random_cases(1000); ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{40, 9, 3});
    const Layer& layer = trace.layers()[0];
    SCOPED_TRACE(fmt::format("{} seed {} {}", GetParam(), seed, layer.shape.describe()));
    const Trace ones = recording_of_ones(layer);
    ASSERT_NE(ones.layers()[0].a.mask.row_bytes, 0);
    for (const Accelerator* m : {ideal.get(), modelled.get()}) {
      if (m == modelled.get() && seed % 4 != 0) continue;
      const SimOptions options{.actions_without_zeros = true};
      const RunResult run = simulate_trace(trace, *m, GetParam(), options, 1);
      const RunResult rerun = simulate_trace(ones, *m, GetParam(), options, 1);
      for (std::size_t i = 0; i < run.layers[0].ops.size(); ++i) {
        const CycleComparison pair = run.cycles_of(0, i), without = rerun.cycles_of(0, i);
        const OpResult& op = run.layers[0].ops[i];
        ASSERT_EQ(pair.cycles_without_zeros, without.cycles);
        ASSERT_EQ(op.actions_without_zeros, rerun.layers[0].ops[i].actions);
        ASSERT_EQ(without.cycles_without_zeros, without.cycles);
        told_apart += pair.cycles_without_zeros > pair.baseline_cycles ? 1 : 0;
        if (without.cycles > 0) {
          ASSERT_EQ(without.speedup_from_zeros(), 1);
        }
        if (pair.cycles == 0) continue;
        ASSERT_NEAR(pair.speedup(), pair.speedup_from_zeros() * pair.speedup_without_zeros(),
                    1e-12 * pair.speedup());
      }
    }
  }
  // Some are slower than their baseline without zeros, and that is not hidden.
  if (GetParam() == "scnn" || GetParam() == "ant" || GetParam() == "sparten") {
    EXPECT_GT(told_apart, random_cases(1000) / 10);
  }
}

TEST_P(EveryModel, EveryParameterIsDocumented) {
  const AcceleratorModel* model = AcceleratorRegistry::instance().find(GetParam());
  EXPECT_FALSE(model->summary.empty());
  EXPECT_FALSE(model->paper.empty());
  for (const ParamSpec& spec : model->params) {
    EXPECT_FALSE(spec.help.empty()) << spec.name;
    EXPECT_FALSE(spec.citation.empty()) << spec.name;
  }
}

// The variants of the models have their own engines in part.
TEST(NamedConfigurations, GoByValues) {
  for (const std::string& name : ArchCatalog().config_names()) {
    EXPECT_EQ(testing::check_executes_values(*testing::make_machine(name), 12).wrong, "") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, ::testing::ValuesIn(ArchCatalog().model_names()),
                         [](const ::testing::TestParamInfo<std::string>& model) {
                           std::string name = model.param;
                           std::ranges::replace(name, '-', '_');  // all that GoogleTest takes
                           return name;
                         });

}  // namespace
}  // namespace lacuna
