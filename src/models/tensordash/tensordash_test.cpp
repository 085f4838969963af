#include <array>
#include <gtest/gtest.h>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "base/testing.hpp"
#include "models/tensordash/engine/row_group.hpp"
#include "models/tensordash/testing.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::tensordash {
namespace {

TEST(Connectivity, PaperLevels) {
  const std::vector<std::vector<int>> expected{{0, 5, 10}, {1, 6, 11}, {2, 7, 12},
                                               {3, 8, 13}, {4, 9, 14}, {15}};
  EXPECT_EQ(connect("paper", 16, 3).levels(), expected);
  EXPECT_EQ(connect("tensordash-2019", 16, 3).levels(), expected);
}

TEST(Connectivity, LevelsNeverOverlapForAnyLaneCount) {
  for (int lanes = 4; lanes <= 64; lanes += runs_sanitized() ? 12 : 1) {
    for (const char* spec : {"paper", "tensordash-2019", "lookahead", "crossbar"}) {
      for (const int depth : {1, 2, 3}) {
        const Connectivity connectivity = connect(spec, lanes, depth);
        for (const std::vector<int>& level : connectivity.levels()) {
          std::map<std::pair<int, int>, int> reached;
          for (const int lane : level) {
            for (const Movement& m : connectivity.movements()) {
              EXPECT_EQ(reached.count({m.step, (lane + m.offset) % lanes}), 0u);
            }
            for (const Movement& m : connectivity.movements())
              reached[{m.step, (lane + m.offset) % lanes}] = lane;
          }
        }
      }
    }
  }
}

TEST(Connectivity, Depth2HasFiveMovements) {
  EXPECT_EQ(connect("paper", 16, 2).movements().size(), 5u);
  EXPECT_EQ(connect("paper", 16, 3).movements().size(), 8u);
  EXPECT_EQ(connect("lookahead", 16, 8).movements().size(), 8u);
  EXPECT_EQ(connect("crossbar", 16, 3).movements().size(), 33u);
  // Few lanes: (+1,i-3) is (+1,i+1) on a ring of four, and (+2,i-2) is (+2,i+2).
  EXPECT_EQ(connect("paper", 4, 3).movements().size(), 6u);
}

TEST(Connectivity, BadListsAreErrors) {
  for (const char* spec : {"papper", "[[1,0]]", "[[0,0],[3,0]]", "[[0,0],[0,1]]", "[0,0]", "[[0,0],[1]]",
                           "[[0,0]", "", "[]", "[[0,0],[1,99999999999]]"}) {
    EXPECT_THROW(connect(spec, 16, 3), InputError) << spec;
  }
  EXPECT_THROW(connect("paper", 16, 4), InputError);
  EXPECT_NO_THROW(connect("[[0,0], [1,0], [1,-1], [3,+2]]", 16, 4));
}

GroupWords words_of(const std::vector<std::vector<std::uint64_t>>& rows, int depth) {
  GroupWords words(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size()), depth);
  for (std::size_t r = 0; r < rows.size(); ++r)
    std::copy(rows[r].begin(), rows[r].end(), words.row(static_cast<std::int64_t>(r)));
  return words;
}

// [TensorDash Fig. 7]: 7 effectual pairs of 16 in 2 cycles instead of 4.
TEST(RowGroup, WorkedExampleOfFigure7) {
  const Scheduler scheduler(connect("[[0,0],[1,0],[1,-1],[1,1]]", 4, 2));
  GroupWords words = words_of({{0b0110, 0b1001, 0b0010, 0b0101}}, 2);
  int picked = 0;
  const auto watch = [&](std::int64_t, std::int64_t, const Selection& selection) {
    for (const std::int16_t s : selection) picked += s != kIdle;
  };
  EXPECT_EQ(run_lockstep(scheduler, words, watch), 2);
  EXPECT_EQ(picked, 7);
}

TEST(RowGroup, EmptyAndFullStreams) {
  const Scheduler scheduler(connect("paper", 16, 3));
  GroupWords empty(4, 72, 3);
  EXPECT_EQ(run_lockstep(scheduler, empty), 24);
  GroupWords full = words_of({std::vector<std::uint64_t>(72, 0xffff)}, 3);
  EXPECT_EQ(run_lockstep(scheduler, full), 72);
  GroupWords one(1, 1, 3);
  EXPECT_EQ(run_lockstep(scheduler, one), 1);
}

// The golden stream table: mean speedup over streams of 72 steps (3x3x128) with independent random zeros.
struct GoldenRow {
  const char* name;
  int depth;
  std::int64_t rows;
  bool decoupled;
  std::array<double, 9> speedup;  // at 10, 20, ... 90 % zeros
};

class GoldenStreams : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(GoldenStreams, WithinOnePercent) {
  const GoldenRow& golden = GetParam();
  const Scheduler scheduler(connect("paper", 16, golden.depth));
  Random random(2020);
  for (std::size_t i = 0; i < golden.speedup.size(); ++i) {
    const double zeros = 0.1 * static_cast<double>(i + 1);
    const std::int64_t streams = 1200 / golden.rows + 100;
    std::int64_t cycles = 0;
    for (std::int64_t n = 0; n < streams; ++n) {
      GroupWords words(golden.rows, 72, golden.depth);
      for (std::int64_t r = 0; r < golden.rows; ++r) {
        for (std::int64_t step = 0; step < 72; ++step) {
          std::uint64_t word = 0;
          for (int lane = 0; lane < 16; ++lane) word |= std::uint64_t{!random.chance(zeros)} << lane;
          words.row(r)[step] = word;
        }
      }
      cycles += golden.decoupled ? run_decoupled(scheduler, words) : run_lockstep(scheduler, words);
    }
    const double speedup = 72.0 * static_cast<double>(streams) / static_cast<double>(cycles);
    EXPECT_NEAR(speedup / golden.speedup[i], 1.0, 0.01) << golden.name << " at " << zeros;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Facts, GoldenStreams,
    ::testing::Values(
        GoldenRow{
            "depth3_1row", 3, 1, false, {1.089, 1.205, 1.342, 1.508, 1.711, 1.961, 2.294, 2.709, 2.962}},
        GoldenRow{
            "depth3_4rows", 3, 4, false, {1.073, 1.169, 1.282, 1.416, 1.578, 1.780, 2.016, 2.406, 2.897}},
        GoldenRow{"depth3_4rows_decoupled",
                  3,
                  4,
                  true,
                  {1.078, 1.187, 1.317, 1.474, 1.665, 1.905, 2.213, 2.621, 2.905}},
        GoldenRow{
            "depth3_16rows", 3, 16, false, {1.062, 1.146, 1.244, 1.359, 1.495, 1.659, 1.897, 2.122, 2.756}},
        GoldenRow{
            "depth2_1row", 2, 1, false, {1.070, 1.160, 1.263, 1.380, 1.513, 1.678, 1.867, 1.971, 1.999}},
        GoldenRow{
            "depth2_4rows", 2, 4, false, {1.051, 1.120, 1.200, 1.291, 1.400, 1.501, 1.680, 1.920, 1.996}}),
    [](const ::testing::TestParamInfo<GoldenRow>& row) { return row.param.name; });

std::unique_ptr<Accelerator> machine(const std::map<std::string, std::string>& settings) {
  const AcceleratorModel* model = AcceleratorRegistry::instance().find("tensordash");
  Params params("tensordash", model->params);
  for (const auto& [key, value] : settings) params.set(key, value, "test");
  return model->make(std::move(params));
}

// Every movement of every named connectivity: each effectual value of a stream is selected exactly once.
TEST(RowGroup, EachEffectualValueOnce) {
  Random random(7);
  for (std::uint64_t round = 0; round < random_cases(400); ++round) {
    const int lanes = static_cast<int>(random.integer(4, 64));
    const int depth = static_cast<int>(random.integer(1, 3));
    const std::vector<std::string> names = Connectivity::names();
    const Scheduler scheduler(
        connect(names[static_cast<std::size_t>(random.integer(0, 3))].c_str(), lanes, depth));
    const std::int64_t rows = random.integer(1, 5);
    const std::int64_t steps = random.integer(1, 30);
    GroupWords words(rows, steps, depth);
    std::map<std::tuple<std::int64_t, std::int64_t, int>, int> expected, taken;
    const double zeros = random.uniform();
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t step = 0; step < steps; ++step) {
        for (int lane = 0; lane < lanes; ++lane) {
          if (random.chance(zeros)) continue;
          words.row(r)[step] |= std::uint64_t{1} << lane;
          expected[{r, step, lane}] = 1;
        }
      }
    }
    const auto watch = [&](std::int64_t r, std::int64_t position, const Selection& selection) {
      for (int lane = 0; lane < lanes; ++lane) {
        if (selection[static_cast<std::size_t>(lane)] == kIdle) continue;
        const Movement& m =
            scheduler.connectivity()
                .movements()[static_cast<std::size_t>(selection[static_cast<std::size_t>(lane)])];
        ++taken[{r, position + m.step, scheduler.source_lane(lane, m)}];
      }
    };
    if (round % 3 == 0) {
      run_lockstep(scheduler, words, watch);
    } else if (round % 3 == 1) {
      run_decoupled(scheduler, words, watch);
    } else {
      schedule_lines(scheduler, words, watch);
    }
    ASSERT_EQ(taken, expected) << "round " << round;
  }
}

// A dense layer of 3 channels leaves 13 of 16 lanes empty, which the scheduler passes over: not sparsity.
TEST(TensorDash, EmptyLanesAreCountedApart) {
  SyntheticSpec spec;
  spec.layers.push_back({"first", LayerShape::conv2d(1, 3, 16, {16, 16}, {3, 3}, {1, 1}, {0, 0}), 1,
                         ZeroSpec::dense(), ZeroSpec::dense(), ZeroSpec::dense()});
  const Trace trace = make_synthetic(spec);
  const auto one_tile = machine({{"tiles", "1"}});
  const OpResult result = one_tile->simulate(trace.layers()[0], Operation::kForward, {});
  const OpResult dense = testing::simulate_baseline(*one_tile, trace.layers()[0], Operation::kForward);
  EXPECT_GT(static_cast<double>(dense.cycles) / static_cast<double>(result.cycles), 1.7);
  const RunResult run = simulate_trace(trace, *one_tile, "tensordash", {}, 1);
  EXPECT_EQ(run.cycles_of(0, 0).cycles_without_zeros, static_cast<double>(result.cycles));
  EXPECT_EQ(run.cycles_of(0, 0).speedup_from_zeros(), 1);
}

TEST(TensorDash, PowerGatingRunsDenseTensorsDensely) {
  SyntheticSpec spec;
  const LayerShape shape = LayerShape::conv2d(1, 32, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1});
  spec.layers.push_back({"few", shape, 1, ZeroSpec::uniform(0.02), ZeroSpec::dense(), ZeroSpec::dense()});
  spec.layers.push_back({"many", shape, 1, ZeroSpec::uniform(0.5), ZeroSpec::dense(), ZeroSpec::dense()});
  const Trace trace = make_synthetic(spec);
  const auto gated = machine({{"power_gating", "on"}});
  const OpResult few = gated->simulate(trace.layers()[0], Operation::kForward, {});
  const std::int64_t dense =
      testing::simulate_baseline(*gated, trace.layers()[0], Operation::kForward).cycles;
  EXPECT_EQ(few.cycles, dense);
  EXPECT_EQ(few.counters, (std::vector<Counter>{{"gated", 1}}));
  const OpResult many = gated->simulate(trace.layers()[1], Operation::kForward, {});
  EXPECT_LT(many.cycles, dense);
  EXPECT_EQ(many.counters, (std::vector<Counter>{{"gated", 0}}));
  EXPECT_EQ(gated->simulate(trace.layers()[0], Operation::kForward, {Engine::kFunctional, 1}), few);
}

TEST(TensorDash, Bfloat16ValuesAreCheckedToo) {
  for (std::uint64_t seed = 1; seed <= random_cases(20); ++seed) {
    Random random(seed);
    const Trace trace =
        testing::random_trace(seed, testing::random_shape(random, {20, 5, 2}), SyntheticContent::kValues);
    const auto bf16 = machine({{"arithmetic", "bfloat16"}});
    for (const Operation op : kOperations) {
      EXPECT_EQ(bf16->simulate(trace.layers()[0], op, {Engine::kFunctional, seed}),
                bf16->simulate(trace.layers()[0], op, {Engine::kFast, seed}));
    }
  }
}

// The authors' early simulator, on the random layers it was run on: every cycle of its table.
TEST(TensorDash2019, EqualsTheAuthorsCycles) {
  struct Row {
    const char* file;
    std::array<std::int64_t, 3> cycles, dense;  // forward, input gradient, weight gradient
  };
  const std::vector<Row> rows{
      {"S", {316, 311, 300}, {576, 576, 576}},
      {"M", {14672, 14816, 15890}, {28224, 28224, 29952}},
      {"A", {60336, 59855, 59040}, {112896, 112896, 112896}},
      {"B", {234048, 232896, 251778}, {451584, 451584, 479232}},
      {"B8", {1873917, 1868667, 2017147}, {3612672, 3612672, 3833856}},
  };
  const auto early = machine({{"tiles", "1"},
                              {"connectivity", "tensordash-2019"},
                              {"sync", "lines"},
                              {"order", "column-major"},
                              {"zeros", "padded"}});
  for (const Row& row : rows) {
    if (runs_sanitized() && row.dense[0] > 200000) continue;  // the same code, for longer
    const Trace trace = Trace::open(std::string(LACUNA_SOURCE_DIR) + "/tests/data/authors_simulator/" +
                                    row.file + ".safetensors.zst");
    for (std::size_t i = 0; i < kOperations.size(); ++i) {
      const OpResult result = early->simulate(trace.layers()[1], kOperations[i], {});
      EXPECT_EQ(result.cycles, row.cycles[i]) << row.file << " " << operation_name(kOperations[i]);
      EXPECT_EQ(testing::simulate_baseline(*early, trace.layers()[1], kOperations[i]).cycles, row.dense[i])
          << row.file << " " << operation_name(kOperations[i]);
    }
  }
}

TEST(TensorDash2019, FunctionalEngineAgrees) {
  const auto early = machine({{"tiles", "1"},
                              {"connectivity", "tensordash-2019"},
                              {"sync", "lines"},
                              {"order", "column-major"},
                              {"zeros", "padded"}});
  for (std::uint64_t seed = 1; seed <= random_cases(150); ++seed) {
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{20, 6, 2});
    for (const Operation op : kOperations) {
      ASSERT_EQ(early->simulate(trace.layers()[0], op, {Engine::kFunctional, seed}),
                early->simulate(trace.layers()[0], op, {Engine::kFast, seed}))
          << "seed " << seed;
    }
  }
}

TEST(TensorDash, BadCombinationsAreErrors) {
  EXPECT_THROW(machine({{"sync", "lines"}}), InputError);
  EXPECT_THROW(machine({{"depth", "4"}}), InputError);
  EXPECT_THROW(machine({{"connectivity", "paperr"}}), InputError);
}

}  // namespace
}  // namespace lacuna::tensordash
