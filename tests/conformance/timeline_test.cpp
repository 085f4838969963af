// Reads timelines back with a separate reader: the times that viewers draw add up to those that are printed.
#include "report/result/timeline.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

struct Slice {
  std::string name;
  double begin = 0, end = 0;
  json args;
};

// A process of the timeline by the names of its tracks.
struct ReadProcess {
  std::string name;
  std::map<std::string, std::vector<Slice>> tracks;
  std::map<std::string, std::vector<double>> counters;
};

struct ReadTimeline {
  json other;
  std::map<int, ReadProcess> processes;
};

// By the rules of the Trace Event Format: complete, counter and metadata events.
ReadTimeline read_timeline(const std::string& text) {
  const json root = json::parse(text);
  ReadTimeline timeline{root.at("otherData"), {}};
  std::map<std::pair<int, int>, std::string> tracks;
  for (const json& event : root.at("traceEvents")) {
    if (event.at("ph") != "M") continue;
    const int pid = event.at("pid");
    if (event.at("name") == "process_name") timeline.processes[pid].name = event.at("args").at("name");
    if (event.at("name") == "thread_name")
      tracks[{pid, event.at("tid").get<int>()}] = event.at("args").at("name");
  }
  for (const json& event : root.at("traceEvents")) {
    const int pid = event.at("pid");
    if (event.at("ph") == "X") {
      const double begin = event.at("ts"), duration = event.at("dur");
      timeline.processes[pid].tracks[tracks.at({pid, event.at("tid").get<int>()})].push_back(
          {event.at("name"), begin, begin + duration, event.at("args")});
    } else if (event.at("ph") == "C") {
      timeline.processes[pid].counters[event.at("name")].push_back(event.at("args").at("value"));
    }
  }
  return timeline;
}

constexpr double kRounding = 0.0021;  // a time is rounded to a thousandth of a cycle

void check_run(const ReadProcess& process, const RunResult& run) {
  const double cycles = run.per_batch().all.cycles;
  double operations = 0, exact = 0;
  for (const Slice& slice : process.tracks.at("operations")) {
    operations += slice.end - slice.begin;
    exact += slice.args.at("cycles").get<double>();
  }
  const double slack = kRounding * static_cast<double>(process.tracks.at("operations").size());
  EXPECT_NEAR(operations, cycles, slack) << run.arch;
  EXPECT_NEAR(exact, cycles, 1e-9 * cycles) << run.arch;
  EXPECT_NEAR(process.tracks.at("operations").back().end, cycles, slack) << run.arch;
  for (const auto& [track, slices] : process.tracks) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      EXPECT_LT(slices[i].begin, slices[i].end) << track;
      EXPECT_LE(slices[i].end, cycles + slack) << run.arch << " " << track;
      if (i > 0) {
        EXPECT_GE(slices[i].begin, slices[i - 1].end - 1e-9) << run.arch << " " << track;
      }
    }
  }
  for (const auto& [name, values] : process.counters) {
    ASSERT_FALSE(values.empty());
    EXPECT_EQ(values.back(), 0) << name;
    for (const double value : values) {
      EXPECT_GE(value, 0) << name;
      if (name.ends_with('%')) {
        EXPECT_LE(value, 100.001) << run.arch << " " << name;
      }
    }
  }
}

// Cycles of all units of a kind by the slices, and by the records.
void check_units(const ReadProcess& process, const RunResult& run) {
  std::map<std::string, double> expected, found;
  for (const LayerResult& layer : run.layers) {
    for (const OpResult& op : layer.ops) {
      std::int64_t spans = 0;
      for (const UnitSpan& span : op.units.spans()) {
        spans += span.cycles;
        for (std::size_t i = 0; i < span.busy.size(); ++i) {
          ASSERT_LE(span.busy[i], span.cycles);
          expected[op.units.unit + " " + std::to_string(i)] +=
              static_cast<double>(span.busy[i]) * layer.batch_scale;
        }
      }
      // The units are busy, one after another, for as long as the tiles or PEs take.
      ASSERT_EQ(spans, op.activity->compute_cycles) << run.arch << " " << operation_name(op.op);
      // While they are busy, their multipliers can make the products that they make.
      double slots = 0;
      for (const UnitSpan& span : op.units.spans()) {
        const double of_unit = run.hardware->total("multipliers") / static_cast<double>(span.busy.size());
        for (const std::int64_t busy : span.busy) slots += static_cast<double>(busy) * of_unit;
      }
      // One that skips nothing counts MACs with the zeros between the rows of a strided gradient.
      const bool skips = op.scheduled != ScheduledOperands();
      ASSERT_LE(static_cast<double>(skips ? op.scheduled_macs : op.effectual_macs), slots)
          << run.arch << " " << operation_name(op.op);
    }
  }
  for (const auto& [track, slices] : process.tracks) {
    for (const Slice& slice : slices) {
      if (expected.contains(track)) found[track] += slice.args.at("cycles").get<double>();
    }
  }
  ASSERT_FALSE(expected.empty()) << run.arch;
  for (const auto& [unit, cycles] : expected)
    EXPECT_NEAR(found[unit], cycles, 1e-9 * cycles) << run.arch << unit;
}

class EveryMachineOverTime : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMachineOverTime, AddsUpToThePrintedCycles) {
  for (const char* memory : {"ideal", "modelled"}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      Random random(seed);
      const Trace trace = testing::random_trace(
          seed, seed % 3 == 0 ? testing::random_product_shape(random) : testing::random_shape(random));
      Simulation simulation;
      simulation.add(GetParam(), testing::make_machine(GetParam(), {{"memory", memory}}));
      SimOptions options;
      options.units = true;
      const SimulationOutcome outcome = simulation.run(trace, options, 1);
      const ReadTimeline timeline = read_timeline(timeline_json(outcome.runs));
      const RunResult& run = outcome.runs.front();
      ASSERT_EQ(timeline.processes.size(), run.baseline ? 2U : 1U);
      EXPECT_EQ(timeline.other.at("runs").at(0).at("cycles").get<double>(), run.per_batch().all.cycles);
      check_run(timeline.processes.at(1), run);
      check_units(timeline.processes.at(1), run);
      if (!run.baseline) continue;
      check_run(timeline.processes.at(2), *run.baseline);
      check_units(timeline.processes.at(2), *run.baseline);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryMachineOverTime, ::testing::ValuesIn(ArchCatalog().model_names()),
                         [](const ::testing::TestParamInfo<std::string>& model) {
                           std::string name = model.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Without zeros every tile of a machine that skips them works as long as that of the dense machine.
TEST(Timeline, TilesAreBusyAsInTheDenseMachineWithoutZeros) {
  SimOptions options;
  options.units = true;
  for (const char* dealing : {"blocks", "turns", "queue"}) {
    const testing::Settings settings{{"tile_dealing", dealing}};
    const auto dense = testing::make_machine("dense", settings);
    for (const LayerShape& shape :
         {LayerShape::linear(64, 96, 320), LayerShape::conv2d(1, 32, 160, {8, 8}, {1, 1}, {1, 1}, {0, 0})}) {
      const Trace trace = testing::dense_trace(shape);
      for (const Operation op : kOperations) {
        const OperationWork work(trace.layers()[0], op);
        const UnitRecord expected = dense->simulate(work, options).units;
        for (const char* name : {"tensordash", "tensordash-two-side"}) {
          const auto machine = testing::make_machine(name, settings);
          EXPECT_EQ(machine->simulate(work, options).units, expected)
              << name << " " << dealing << " " << shape.describe() << " " << operation_name(op);
        }
      }
    }
  }
}

// Both engines record the same.
TEST(Timeline, EnginesRecordTheSame) {
  for (const std::string& name : ArchCatalog().model_names()) {
    const auto machine = testing::make_machine(name);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Random random(seed);
      const Trace trace = testing::random_trace(seed, testing::random_shape(random, {24, 7, 2}));
      SimOptions fast, functional;
      fast.units = functional.units = true;
      functional.engine = Engine::kFunctional;
      for (const Operation op : kOperations) {
        const Layer& layer = trace.layers()[0];
        const OpResult a = machine->simulate(OperationWork(layer, op), fast);
        const OpResult b = machine->simulate(OperationWork(layer, op), functional);
        EXPECT_EQ(a.units, b.units) << name << " " << seed << " " << operation_name(op);
      }
    }
  }
}

// A long run stays small enough to open, and still adds up.
TEST(Timeline, IsSampledDownForLongRuns) {
  SyntheticSpec spec;
  for (int i = 0; i < 60; ++i) {
    spec.layers.push_back({"layer" + std::to_string(i),
                           LayerShape::conv2d(1, 64, 64, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 64), 1,
                           ZeroSpec::uniform(0.5), ZeroSpec::dense(), ZeroSpec::uniform(0.5)});
  }
  Simulation simulation;
  simulation.add("tensordash", testing::make_machine("tensordash"));
  SimOptions options;
  options.units = true;
  const SimulationOutcome outcome = simulation.run(make_synthetic(spec), options, 1);
  const std::string text = timeline_json(outcome.runs);
  EXPECT_LT(text.size(), 40'000'000U);
  const ReadTimeline timeline = read_timeline(text);
  check_run(timeline.processes.at(1), outcome.runs.front());
  check_units(timeline.processes.at(1), outcome.runs.front());
  std::size_t slices = 0;
  for (const auto& [track, of_track] : timeline.processes.at(1).tracks)
    slices += track.starts_with("tile") ? of_track.size() : 0;
  EXPECT_LE(slices, 100'000U);
  EXPECT_GT(slices, 1'000U);
}

// Names of layers come from files.
TEST(Timeline, QuotesHostileNames) {
  RunResult run;
  run.arch = "a\"b";
  run.trace = "x\n\xff.zst";
  run.batch = 1;
  OpResult op;
  op.cycles = 5;
  run.layers.push_back({"l\"\\\x01", "s\"", 1, {op}});
  const ReadTimeline timeline = read_timeline(timeline_json({run}));
  EXPECT_EQ(timeline.processes.at(1).tracks.at("operations").at(0).args.at("layer"), "l\"\\\x01");
}

}  // namespace
}  // namespace lacuna
