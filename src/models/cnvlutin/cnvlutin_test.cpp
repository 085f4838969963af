#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "energy/energy.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/plain_tiles.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna {
namespace {

using testing::counter;
using testing::Lane;
using testing::PlainProduct;
using testing::PlainStream;
using testing::Settings;

std::unique_ptr<Accelerator> machine(const Settings& settings, const std::string& name = "cnvlutin") {
  return testing::make_machine(name, settings);
}

Trace linear_trace(const std::vector<std::string>& rows, std::int64_t outputs) {
  return testing::drawn_trace(Operand::kA, rows, outputs);
}

const Settings kTiny{{"lanes", "4"}, {"rows", "2"}, {"columns", "2"}, {"tiles", "1"}, {"schedule", "A"}};

Settings tiny(Settings more) {
  Settings all = kTiny;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

OpResult both_engines(const Accelerator& m, const Layer& layer, Operation op) {
  OpResult fast = m.simulate(layer, op, {});
  EXPECT_EQ(m.simulate(layer, op, {Engine::kFunctional, 7}), fast);
  return fast;
}

// 12 features on 4 lanes are 3 steps. Lane 0 of the first window has 3 non-zeros, lane 2 has 2, the others
// none: 3 cycles. The second window: lanes 1 and 3 have one each: 1 cycle. Both are on one tile, so the
// group takes 3; 3 outputs are 2 groups of columns: 6.
TEST(Cnvlutin, SlowestLaneDecides) {
  const Trace hand = linear_trace({"x...x.x.x.x.", ".x.........x"}, 3);
  const OpResult result = both_engines(*machine(kTiny), hand.layers()[0], Operation::kForward);
  EXPECT_EQ(result.cycles, 6);
  EXPECT_EQ(result.scheduled, Operand::kA);
  EXPECT_EQ(result.scheduled_macs, (5 + 2) * 3);
  EXPECT_EQ(counter(result, "column_reads"), (5 + 2) * 2);
  EXPECT_EQ(counter(result, "idle_lane_cycles"), ((3 * 4 - 5) + (1 * 4 - 2)) * 2);
  EXPECT_EQ(both_engines(*machine(kTiny, "dense"), hand.layers()[0], Operation::kForward).cycles, 6);
}

// Four windows on one tile of two rows: groups {3, 1} and {1, 3}. Rows that wait: 3 + 3; free ones: 4 each.
TEST(Cnvlutin, RowsWaitAtEachWindowOrOnlyAtTheEnd) {
  const Trace hand = linear_trace({"x...x...x...", "x...........", ".x..........", "..x...x...x."}, 2);
  EXPECT_EQ(both_engines(*machine(kTiny), hand.layers()[0], Operation::kForward).cycles, 6);
  EXPECT_EQ(
      both_engines(*machine(tiny({{"row_sync", "free"}})), hand.layers()[0], Operation::kForward).cycles, 4);
}

// bricks=step: each of the 3 steps is a brick for a separate lane: 1, 2 and 2 non-zeros in the first
// window. In the second the bricks hold 1, 0 and 1.
TEST(Cnvlutin, WholeBricksGoToLanes) {
  const Trace hand = linear_trace({"x...x.x.x.x.", ".x.........x"}, 2);
  const auto cycles = [&](Settings more) {
    more.emplace_back("bricks", "step");
    return both_engines(*machine(tiny(more)), hand.layers()[0], Operation::kForward).cycles;
  };
  EXPECT_EQ(cycles({}), 2);
  // A window without zeros takes 4 cycles on three lanes, one more than on the dense tiles.
  const Trace dense = linear_trace({"xxxxxxxxxxxx"}, 2);
  EXPECT_EQ(both_engines(*machine(tiny({{"bricks", "step"}})), dense.layers()[0], Operation::kForward).cycles,
            4);
  EXPECT_EQ(both_engines(*machine(kTiny), dense.layers()[0], Operation::kForward).cycles, 3);
}

// 20 features on 4 lanes: 5 steps, bricks of 2 of them: three bricks per lane. Lane 0 has its two non-zeros
// in the first brick, so the two empty ones make 4; the other lanes have 3 empty ones.
TEST(Cnvlutin, EmptyBricksMayCostACycle) {
  const Trace hand = linear_trace({"x...x..............."}, 2);
  const auto cycles = [&](const Settings& more) {
    return both_engines(*machine(tiny(more)), hand.layers()[0], Operation::kForward).cycles;
  };
  EXPECT_EQ(cycles({{"brick_values", "2"}}), 2);
  EXPECT_EQ(cycles({{"brick_values", "2"}, {"empty_brick_cycles", "1"}}), 4);
  EXPECT_EQ(cycles({{"brick_values", "5"}, {"empty_brick_cycles", "1"}}), 2);
}

// Slices of 2 steps: lanes meet after steps 0-1, 2-3 and 4. Lane 0 has both its values in the first slice,
// lane 1 both in the second, lane 2 one in the last.
TEST(Cnvlutin, LanesWaitAtTheEndOfASlice) {
  const Trace hand = linear_trace({"x...x....x...x....x."}, 2);
  const auto cycles = [&](const Settings& more) {
    return both_engines(*machine(tiny(more)), hand.layers()[0], Operation::kForward).cycles;
  };
  EXPECT_EQ(cycles({}), 2);
  EXPECT_EQ(cycles({{"slice_steps", "2"}}), 5);
}

TEST(Cnvlutin, AWindowOfZerosTakesACycle) {
  const Trace hand = linear_trace({"............", "............", "............"}, 2);
  const auto cycles = [&](const Settings& more) {
    return both_engines(*machine(tiny(more)), hand.layers()[0], Operation::kForward).cycles;
  };
  EXPECT_EQ(cycles({}), 2);  // two groups of rows
  EXPECT_EQ(cycles({{"window_cycles", "0"}}), 0);
}

// --- the definition again, on any layer ---

struct Options {
  bool whole_bricks = false, free_rows = false;
  std::int64_t brick_values = 16, empty = 0, window = 1, slice = 0;
  std::int64_t lanes = 16, rows = 4, columns = 4, tiles = 16;
  testing::PlainGrid::Rule rule = {};
};

std::int64_t window_cycles(const Options& o, const PlainStream& stream, std::int64_t period) {
  const auto steps = static_cast<std::int64_t>(stream.size());
  const auto full = [&](std::int64_t step, std::int64_t lane) {
    const Lane at = stream[static_cast<std::size_t>(step)][static_cast<std::size_t>(lane)];
    return at == Lane::kNonzero ? 1 : 0;
  };
  const std::int64_t slice = o.slice == 0 ? steps : o.slice;
  std::int64_t cycles = 0;
  for (std::int64_t first = 0; first < steps; first += slice) {
    const std::int64_t end = std::min(steps, first + slice);
    std::vector<std::int64_t> busy(static_cast<std::size_t>(o.lanes), 0);
    for (std::int64_t lane = 0; lane < o.lanes; ++lane) {
      if (o.whole_bricks) {
        for (std::int64_t step = first; step < end; ++step) {
          if (step % o.lanes != lane) continue;
          std::int64_t values = 0;
          for (std::int64_t i = 0; i < o.lanes; ++i) values += full(step, i);
          busy[static_cast<std::size_t>(lane)] += std::max(values, o.empty);
        }
        continue;
      }
      for (std::int64_t step = first; step < end;) {
        const std::int64_t brick_end = std::min({end, step + o.brick_values, (step / period + 1) * period});
        std::int64_t values = 0;
        for (; step < brick_end; ++step) values += full(step, lane);
        busy[static_cast<std::size_t>(lane)] += std::max(values, o.empty);
      }
    }
    cycles += *std::max_element(busy.begin(), busy.end());
  }
  return std::max(cycles, o.window);
}

struct Expected {
  std::int64_t cycles = 0, dense = 0;
  std::int64_t column_reads = 0, idle_lane_cycles = 0, scheduled = 0, effectual = 0;
};

std::int64_t nonzeros(const PlainStream& stream) {
  std::int64_t count = 0;
  for (const auto& step : stream) count += std::count(step.begin(), step.end(), Lane::kNonzero);
  return count;
}

void add_product(const Options& o, const PlainProduct& product, bool secondary_on_rows, Expected& sum) {
  const auto& rows = secondary_on_rows ? product.secondary : product.primary;
  const auto& columns = secondary_on_rows ? product.primary : product.secondary;
  const auto row_count = static_cast<std::int64_t>(rows.size());
  const testing::PlainGrid grid(row_count, static_cast<std::int64_t>(columns.size()), o.tiles, o.rows,
                                o.columns, o.rule);
  const auto steps = static_cast<std::int64_t>(rows[0].size());
  sum.dense += grid.slowest_tile([&](std::int64_t, std::int64_t) { return steps; });

  std::vector<std::int64_t> cycles;
  for (const PlainStream& stream : rows) cycles.push_back(window_cycles(o, stream, product.period));
  std::int64_t slowest = 0;
  if (o.free_rows) {
    slowest = grid.slowest(cycles, o.rows) * grid.columns_each;
  } else {
    slowest = grid.slowest_tile([&](std::int64_t group, std::int64_t) {
      std::int64_t longest = 0;
      for (std::int64_t row = group * o.rows; row < std::min(row_count, (group + 1) * o.rows); ++row)
        longest = std::max(longest, cycles[static_cast<std::size_t>(row)]);
      return longest;
    });
  }
  sum.cycles += slowest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t values = nonzeros(rows[i]);
    sum.scheduled += values * static_cast<std::int64_t>(columns.size());
    sum.column_reads += values * grid.column_groups;
    sum.idle_lane_cycles += (cycles[i] * o.lanes - values) * grid.column_groups;
  }

  for (const PlainStream& row : rows) {
    for (const PlainStream& column : columns) {
      for (std::size_t step = 0; step < row.size(); ++step) {
        for (std::size_t lane = 0; lane < row[step].size(); ++lane)
          sum.effectual += row[step][lane] == Lane::kNonzero && column[step][lane] == Lane::kNonzero ? 1 : 0;
      }
    }
  }
}

Expected expect(const Options& o, const Layer& layer, Operation op) {
  const bool secondary_on_rows = testing::PlainTiles::secondary_is_sparser(layer, op);
  Expected sum;
  const testing::PlainTiles plain(layer, op, o.lanes);
  for (const PlainProduct& product : plain.products()) add_product(o, product, secondary_on_rows, sum);
  return sum;
}

Options random_options(Random& random) {
  Options o;
  if (random.chance(0.5)) {
    o.lanes = random.chance(0.5) ? 4 * random.integer(1, 5) : random.integer(4, 40);
    o.rows = random.integer(1, 5);
    o.columns = random.integer(1, 5);
    o.tiles = random.integer(1, 8);
  }
  o.rule = testing::random_rule(random);
  o.whole_bricks = random.chance(0.4);
  o.free_rows = random.chance(0.4);
  o.brick_values = random.chance(0.5) ? 16 : random.integer(2, 6);
  o.empty = random.integer(0, 1);
  o.window = random.integer(0, 1);
  o.slice = random.chance(0.3) ? random.integer(1, 9) : 0;
  return o;
}

Settings settings_of(const Options& o) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  return {{"lanes", text(o.lanes)},
          {"rows", text(o.rows)},
          {"columns", text(o.columns)},
          {"tiles", text(o.tiles)},
          {"bricks", o.whole_bricks ? "step" : "lane"},
          {"brick_values", text(o.brick_values)},
          {"empty_brick_cycles", text(o.empty)},
          {"window_cycles", text(o.window)},
          {"row_sync", o.free_rows ? "free" : "window"},
          {"slice_steps", text(o.slice)},
          {"tile_grid", o.rule.square ? "square" : "rows"},
          {"tile_dealing", o.rule.dealing}};
}

TEST(Cnvlutin, EnginesEqualThePlainDefinitionOnThreeThousandLayers) {
  for (std::uint64_t seed = 1; seed <= random_cases(3000); ++seed) {
    Random random(seed * 77);
    const Options options = random_options(random);
    const std::unique_ptr<Accelerator> m = machine(settings_of(options));
    const Trace trace =
        testing::random_trace(seed, testing::RandomLayerLimits{seed % 10 == 0 ? 40 : 18, 6, 2});
    const Layer& layer = trace.layers()[0];
    for (const Operation op : kOperations) {
      SCOPED_TRACE(fmt::format("seed {} {} {}", seed, operation_name(op), layer.shape.describe()));
      const Expected expected = expect(options, layer, op);
      const OpResult fast = m->simulate(layer, op, {});
      ASSERT_EQ(fast.cycles, expected.cycles);
      ASSERT_EQ(fast.scheduled_macs, expected.scheduled);
      ASSERT_EQ(fast.effectual_macs, expected.effectual);
      ASSERT_EQ(counter(fast, "column_reads"), expected.column_reads);
      ASSERT_EQ(counter(fast, "idle_lane_cycles"), expected.idle_lane_cycles);
      // It throws if the values are not those of the reference convolution.
      ASSERT_EQ(m->simulate(layer, op, {Engine::kFunctional, seed}), fast);
      // Bounds: no lane takes two values in a cycle; lanes that share a window as on the dense tiles never
      // take longer than those.
      ASSERT_GE(fast.cycles * options.tiles * options.rows * options.columns * options.lanes,
                fast.scheduled_macs);
      if (!options.whole_bricks) {
        ASSERT_LE(fast.cycles, expected.dense);
      }
    }
  }
}

TEST(Cnvlutin, BaselineIsTheDenseMachineOfTheSameTiles) {
  const std::optional<BaselineSpec> spec = machine({{"rows", "8"}, {"bricks", "step"}})->baseline();
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->model, "dense");
  EXPECT_EQ(spec->settings, (Settings{{"rows", "8"}}));
}

TEST(Cnvlutin, EnergyCountsWhatTheHardwareDeclares) {
  const Trace trace = testing::random_trace(5, LayerShape::conv2d(2, 40, 24, {9, 9}, {3, 3}, {1, 1}, {1, 1}));
  for (const char* type : {"fp32", "bfloat16"}) {
    const std::unique_ptr<Accelerator> m = machine({{"arithmetic", type}});
    const std::unique_ptr<Accelerator> dense = machine({{"arithmetic", type}}, "dense");
    const Hardware hardware = *m->hardware();
    const CostTable table = energy_table("", 0, hardware);
    check_energy_costs(table, hardware, "cnvlutin");
    check_area_costs(table, hardware, "cnvlutin");
    const ByComponent area = area_mm2(hardware, table);
    for (const char* added : {"encoders", "column_slices", "offsets"}) EXPECT_GT(area.of(added), 0) << added;
    EXPECT_EQ(area.of("cores"), area_mm2(*dense->hardware(), table).of("cores"));
    for (const Operation op : kOperations) {
      const OpResult result = m->simulate(trace.layers()[0], op, {});
      const ByComponent energy = energy_joules(hardware, result.actions, table);
      for (const ByComponent::Value& value : energy.values) EXPECT_GT(value.value, 0) << value.name;
      for (const ActionCount& count : result.actions) EXPECT_GE(count.count, 0) << count.component;
      // Offsets: 4 bits with each value of BM's rows.
      const auto find = [&](std::string_view component, std::string_view part) {
        return std::ranges::find_if(result.actions, [&](const ActionCount& count) {
          return count.component == component && count.part == part && count.action == "read";
        });
      };
      const double bits = type == std::string_view("fp32") ? 32 : 16;
      EXPECT_DOUBLE_EQ(find("offsets", "sram")->count,
                       static_cast<double>(result.activity->bm_reads) * 4 / bits);
    }
  }
}

TEST(Cnvlutin, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(error_of([] { machine({{"bricks", "16"}}); }).find("lane | step"), std::string::npos);
  EXPECT_NE(error_of([] { machine({{"slices", "4"}}); }).find("slice_steps"), std::string::npos);
}

}  // namespace
}  // namespace lacuna
