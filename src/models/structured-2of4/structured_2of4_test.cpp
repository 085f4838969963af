#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "energy/energy.hpp"
#include "models/structured-2of4/engine.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/plain_tiles.hpp"
#include "sim/testing/random_layer.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

using testing::counter;
using testing::Lane;
using testing::PlainProduct;
using testing::PlainStream;
using testing::Settings;

std::unique_ptr<Accelerator> machine(const Settings& settings, const std::string& name = "structured-2of4") {
  return testing::make_machine(name, settings);
}

Trace linear_trace(const std::vector<std::string>& weights, std::int64_t samples) {
  return testing::drawn_trace(Operand::kW, weights, samples);
}

Settings tiny(Settings more) {
  more.insert(more.end(), {{"lanes", "4"}, {"rows", "2"}, {"columns", "2"}, {"tiles", "1"}});
  return more;
}

OpResult both_engines(const Settings& settings, const Layer& layer, Operation op = Operation::kForward) {
  const std::unique_ptr<Accelerator> m = machine(settings);
  OpResult fast = m->simulate(layer, op, {});
  EXPECT_EQ(m->simulate(layer, op, {Engine::kFunctional, 7}), fast);
  return fast;
}

// 20 features on 4 lanes: 5 steps, stretches {0,1} {2,3} {4}. W has more zeros, so its two filters are on the
// rows. The first fits everywhere; the second has three of four in step 2: that stretch takes 2 cycles, the
// others 1. Three samples are two groups of columns.
TEST(Structured2of4, AStretchThatDoesNotFitRunsDensely) {
  const Trace hand = linear_trace({"xx...x...x.x.......x", "....x...xx.x........"}, 3);
  const OpResult result = both_engines(tiny({}), hand.layers()[0]);
  EXPECT_EQ(result.cycles, (1 + 2 + 1) * 2);
  EXPECT_EQ(result.scheduled, Operand::kW);
  EXPECT_EQ(counter(result, "groups_of_4"), 10);
  EXPECT_EQ(counter(result, "violating_groups"), 1);
  EXPECT_EQ(counter(result, "values_to_drop"), 1);
  EXPECT_EQ(counter(result, "macs_to_drop"), 3);
  EXPECT_EQ(result.scheduled_macs, (6 + 4) * 3);
  EXPECT_EQ(machine(tiny({}), "dense")->simulate(hand.layers()[0], Operation::kForward, {}).cycles, 5 * 2);
  EXPECT_EQ(both_engines(tiny({{"granularity", "streams"}}), hand.layers()[0]).cycles, 10);
  EXPECT_EQ(both_engines(tiny({{"granularity", "operand"}}), hand.layers()[0]).cycles, 10);
  EXPECT_EQ(both_engines(tiny({{"violations", "drop"}}), hand.layers()[0]).cycles, 3 * 2);
}

// Four filters are two groups of rows; only the second has a group that does not fit, in its last step,
// which takes one cycle either way.
TEST(Structured2of4, HowFarOneGroupReaches) {
  const Trace hand = linear_trace({"xx..xx..xx..", "....xx......", "............", "x.......xxxx"}, 2);
  const auto cycles = [&](const char* granularity) {
    return both_engines(tiny({{"granularity", granularity}, {"schedule", "W"}}), hand.layers()[0]).cycles;
  };
  EXPECT_EQ(cycles("stretch"), 2 + 2);
  EXPECT_EQ(cycles("streams"), 2 + 3);
  EXPECT_EQ(cycles("operand"), 3 + 3);
}

// On the columns: three filters are two groups there, of which the first does not fit; two samples on rows.
TEST(Structured2of4, ThePrunedOperandMayBeOnTheColumns) {
  const Trace hand = linear_trace({"xxx.....", "........", "xx..xx.."}, 2);
  EXPECT_EQ(both_engines(tiny({{"schedule", "A"}}), hand.layers()[0]).cycles, 2 + 1);
  EXPECT_EQ(both_engines(tiny({{"schedule", "W"}}), hand.layers()[0]).cycles, 2 + 1);
}

TEST(Structured2of4, OtherOperationsRunDensely) {
  const Trace hand = linear_trace({"xx..xx..", "........"}, 5);
  const Layer& layer = hand.layers()[0];
  const OpResult result = both_engines(tiny({}), layer, Operation::kWeightGrad);
  EXPECT_EQ(result.scheduled, ScheduledOperands());
  EXPECT_EQ(result.cycles, machine(tiny({}), "dense")->simulate(layer, Operation::kWeightGrad, {}).cycles);
  EXPECT_EQ(result.scheduled_macs, result.macs);
}

// W is pruned along its channels, as for inference: in the input gradient the groups are of filters, and four
// filters that keep the same channels do not fit.
TEST(Structured2of4, APatternAlongChannelsIsNoneAlongFilters) {
  const Trace hand = linear_trace({"xx..", "xx..", "xx..", "xx.."}, 2);
  const Layer& layer = hand.layers()[0];
  EXPECT_EQ(counter(both_engines(tiny({}), layer), "violating_groups"), 0);
  EXPECT_EQ(counter(both_engines(tiny({}), layer, Operation::kInputGrad), "violating_groups"), 2);
}

// Values decide what is dropped: the smallest, whatever its sign. The functional engine throws if what it
// computes is not what the pruned weights give.
TEST(Structured2of4, TheSmallestValuesAreDropped) {
  TraceBuilder builder("hand");
  const float a[] = {1, 1, 1, 1, 1, 1, 1, 1};
  const float w[] = {-5, 1, 2, -3, 2, 2, 2, 0};  // stays: -5, -3 and the first two of 2, 2, 2
  builder.add_layer("layer", LayerShape::linear(1, 8, 1)).values(Operand::kA, a).values(Operand::kW, w);
  const Trace hand = builder.build();
  const OpResult result = both_engines(tiny({{"violations", "drop"}}), hand.layers()[0]);
  EXPECT_EQ(result.cycles, 1);
  EXPECT_EQ(counter(result, "values_to_drop"), 3);
  EXPECT_EQ(counter(result, "macs_to_drop"), 3);
  const TensorValues weights{.data = {w, w + 8}, .channels = 8};
  EXPECT_EQ(structured_2of4::prune(weights, Operand::kW, hand.layers()[0].shape, Operation::kForward).data,
            (std::vector<float>{-5, 0, 0, -3, 2, 2, 0, 0}));
}

// --- the definition again, on any layer ---

struct Options {
  std::int64_t lanes = 16, rows = 4, columns = 4, tiles = 16;
  std::string pruned = "W", violations = "dense", granularity = "stretch";
  testing::PlainGrid::Rule rule = {};
};

struct Expected {
  std::int64_t cycles = 0, dense = 0;
  std::int64_t groups = 0, violating = 0, surplus = 0, macs = 0;
};

bool takes_part(const std::string& role, Operation op) {
  return op == Operation::kForward ? role != "G" : op == Operation::kInputGrad ? role != "A" : role != "W";
}

// Whether a step has four in a row with more than two non-zeros.
bool violates(const testing::PlainStep& step, Expected* count = nullptr) {
  bool any = false;
  for (std::size_t first = 0; first < step.size(); first += 4) {
    int nonzeros = 0, elements = 0;
    for (std::size_t i = first; i < first + 4; ++i) {
      elements += step[i] != Lane::kNone ? 1 : 0;
      nonzeros += step[i] == Lane::kNonzero ? 1 : 0;
    }
    any |= nonzeros > 2;
    if (count == nullptr) continue;
    count->groups += elements > 0 ? 1 : 0;
    count->violating += nonzeros > 2 ? 1 : 0;
    count->surplus += std::max(0, nonzeros - 2);
  }
  return any;
}

Expected expect(const Options& o, const Layer& layer, Operation op) {
  const testing::PlainTiles plain(layer, op, o.lanes);
  const bool secondary_on_rows = testing::PlainTiles::secondary_is_sparser(layer, op);
  const bool is_secondary = o.pruned == "W" || (o.pruned == "A" && op == Operation::kWeightGrad);
  const bool overlapping =
      o.pruned == "A" && op == Operation::kWeightGrad && layer.shape.kind == LayerKind::kConv2d;
  const bool drop = o.violations == "drop";
  const bool applies = takes_part(o.pruned, op) && !(drop && overlapping);
  Expected sum;

  bool whole_operand = false;
  for (const PlainProduct& product : plain.products()) {
    for (const PlainStream& stream : is_secondary ? product.secondary : product.primary) {
      for (const auto& step : stream) whole_operand |= violates(step);
    }
  }
  for (const PlainProduct& product : plain.products()) {
    const auto& rows = secondary_on_rows ? product.secondary : product.primary;
    const auto& columns = secondary_on_rows ? product.primary : product.secondary;
    const auto& pruned = is_secondary ? product.secondary : product.primary;
    const auto& other = is_secondary ? product.primary : product.secondary;
    const bool on_rows = is_secondary == secondary_on_rows;
    const std::int64_t together = on_rows ? o.rows : o.columns;
    const testing::PlainGrid grid(static_cast<std::int64_t>(rows.size()),
                                  static_cast<std::int64_t>(columns.size()), o.tiles, o.rows, o.columns,
                                  o.rule);
    const std::size_t steps = pruned[0].size();
    const auto group_cycles = [&](std::int64_t group) -> std::int64_t {
      std::int64_t cycles = 0;
      bool fits = true;
      for (std::size_t step = 0; step < steps; step += 2) {
        bool dense = false;
        for (std::int64_t i = group * together; i < (group + 1) * together; ++i) {
          if (i >= static_cast<std::int64_t>(pruned.size())) continue;
          const PlainStream& stream = pruned[static_cast<std::size_t>(i)];
          dense |= violates(stream[step]) || (step + 1 < steps && violates(stream[step + 1]));
        }
        fits &= !dense;
        cycles += dense && !drop && step + 1 < steps ? 2 : 1;
      }
      if (drop) return cycles;
      if (o.granularity == "streams" && !fits) return static_cast<std::int64_t>(steps);
      if (o.granularity == "operand" && whole_operand) return static_cast<std::int64_t>(steps);
      return cycles;
    };
    const std::int64_t dense =
        grid.slowest_tile([&](std::int64_t, std::int64_t) { return static_cast<std::int64_t>(steps); });
    const std::int64_t cycles =
        applies
            ? grid.slowest_tile([&](std::int64_t r, std::int64_t c) { return group_cycles(on_rows ? r : c); })
            : dense;
    sum.cycles += cycles;
    sum.dense += dense;
    if (!applies) continue;
    Expected here;
    for (const PlainStream& stream : pruned) {
      for (const auto& step : stream) violates(step, &here);
    }
    sum.groups += here.groups;
    sum.violating += here.violating;
    sum.surplus += here.surplus;
    sum.macs += here.surplus * static_cast<std::int64_t>(other.size());
  }

  return sum;
}

Options random_options(Random& random) {
  Options o;
  if (random.chance(0.5)) {
    o.lanes = 4 * random.integer(1, 5);
    o.rows = random.integer(1, 5);
    o.columns = random.integer(1, 5);
    o.tiles = random.integer(1, 8);
  }
  o.rule = testing::random_rule(random);
  o.pruned = random.chance(0.5) ? "W" : random.chance(0.5) ? "A" : "G";
  o.violations = random.chance(0.3) ? "drop" : "dense";
  o.granularity = random.chance(0.5) ? "stretch" : random.chance(0.5) ? "streams" : "operand";
  return o;
}

TEST(Structured2of4, EnginesEqualThePlainDefinitionOnThreeThousandLayers) {
  for (std::uint64_t seed = 1; seed <= random_cases(3000); ++seed) {
    Random random(seed * 131);
    const Options o = random_options(random);
    const std::unique_ptr<Accelerator> m = machine({{"lanes", std::to_string(o.lanes)},
                                                    {"rows", std::to_string(o.rows)},
                                                    {"columns", std::to_string(o.columns)},
                                                    {"tiles", std::to_string(o.tiles)},
                                                    {"tile_grid", o.rule.square ? "square" : "rows"},
                                                    {"tile_dealing", o.rule.dealing},
                                                    {"pruned", o.pruned},
                                                    {"violations", o.violations},
                                                    {"granularity", o.granularity}});
    const Trace trace =
        testing::random_trace(seed, testing::RandomLayerLimits{seed % 10 == 0 ? 40 : 18, 6, 2});
    const Layer& layer = trace.layers()[0];
    for (const Operation op : kOperations) {
      SCOPED_TRACE(fmt::format("seed {} {} {}", seed, operation_name(op), layer.shape.describe()));
      const Expected expected = expect(o, layer, op);
      const OpResult fast = m->simulate(layer, op, {});
      ASSERT_EQ(fast.cycles, expected.cycles);
      ASSERT_EQ(counter(fast, "groups_of_4"), expected.groups);
      ASSERT_EQ(counter(fast, "violating_groups"), expected.violating);
      ASSERT_EQ(counter(fast, "values_to_drop"), expected.surplus);
      ASSERT_EQ(counter(fast, "macs_to_drop"), expected.macs);
      // It throws if the values are not those of the reference convolution, with the operand as pruned.
      ASSERT_EQ(m->simulate(layer, op, {Engine::kFunctional, seed}), fast);
      ASSERT_LE(fast.cycles, expected.dense);
      ASSERT_GE(2 * fast.cycles, expected.dense);
    }
  }
}

TEST(Structured2of4, EnergyCountsWhatTheHardwareDeclares) {
  const Trace trace = testing::random_trace(5, LayerShape::conv2d(2, 40, 24, {9, 9}, {3, 3}, {1, 1}, {1, 1}));
  for (const char* type : {"fp32", "bfloat16"}) {
    const std::unique_ptr<Accelerator> m = machine({{"arithmetic", type}});
    const Hardware hardware = *m->hardware();
    const CostTable table = energy_table("", 0, hardware);
    check_energy_costs(table, hardware, "structured-2of4");
    check_area_costs(table, hardware, "structured-2of4");
    const ByComponent area = area_mm2(hardware, table);
    EXPECT_GT(area.of("operand_muxes"), 0);
    EXPECT_GT(area.of("metadata"), 0);
    for (const Operation op : kOperations) {
      const OpResult result = m->simulate(trace.layers()[0], op, {});
      const ByComponent energy = energy_joules(hardware, result.actions, table);
      for (const ByComponent::Value& value : energy.values) {
        const bool added = value.name == "operand_muxes" || value.name == "metadata";
        if (added && op == Operation::kWeightGrad) {
          EXPECT_EQ(value.value, 0) << value.name;  // W takes no part in it
        } else {
          EXPECT_GT(value.value, 0) << value.name;
        }
      }
    }
  }
}

TEST(Structured2of4, BaselineAndBadConfigurations) {
  const std::optional<BaselineSpec> spec = machine({{"tiles", "4"}, {"pruned", "A"}})->baseline();
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->model, "dense");
  EXPECT_EQ(spec->settings, (Settings{{"tiles", "4"}}));
  EXPECT_NE(error_of([] { machine({{"lanes", "10"}}); }).find("multiple of 4"), std::string::npos);
  EXPECT_NE(error_of([] { machine({{"violations", "skip"}}); }).find("dense | drop"), std::string::npos);
}

}  // namespace
}  // namespace lacuna
