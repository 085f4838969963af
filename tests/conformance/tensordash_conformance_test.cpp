// Functional = fast = brute force, on ten thousand random layers of every geometry.
#include <array>
#include <gtest/gtest.h>

#include "conformance/tensordash_brute.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/workload/mac_counts.hpp"
#include "sim/workload/schedule_policy.hpp"

namespace lacuna::testing {
namespace {

struct Case {
  std::string connectivity = "paper";
  int depth = 3;
  bool two_side = false;
  bool decoupled = false;
  std::int64_t rows = 4, columns = 4, tiles = 1;
  int lanes = 16;
  bool square_grid = false;
  std::string dealing = "blocks";
  bool needed = false;
};

Case random_case(Random& random) {
  const std::vector<std::string> names{"paper", "tensordash-2019", "lookahead", "crossbar"};
  Case c;
  c.connectivity = random.chance(0.5) ? "paper" : names[static_cast<std::size_t>(random.integer(0, 3))];
  c.depth = static_cast<int>(random.chance(0.1) ? 1 : random.integer(2, 3));
  c.two_side = random.chance(0.2);
  c.decoupled = random.chance(0.2);
  if (random.chance(0.4)) {
    c.rows = random.integer(1, 9);
    c.columns = random.integer(1, 6);
  }
  if (random.chance(0.3)) {
    c.tiles = random.integer(2, 16);
    c.square_grid = random.chance(0.5);
    c.dealing = random.chance(0.3) ? "blocks" : random.chance(0.3) ? "turns" : "queue";
  }
  if (random.chance(0.15)) c.lanes = static_cast<int>(random.integer(4, 33));
  c.needed = !c.two_side && random.chance(0.3);
  return c;
}

void check_layer(const Layer& layer, const Case& c, std::uint64_t seed, bool functional) {
  const Settings settings{{"connectivity", c.connectivity},
                          {"depth", std::to_string(c.depth)},
                          {"sides", c.two_side ? "both" : "one"},
                          {"sync", c.decoupled ? "decoupled" : "lockstep"},
                          {"rows", std::to_string(c.rows)},
                          {"columns", std::to_string(c.columns)},
                          {"tiles", std::to_string(c.tiles)},
                          {"lanes", std::to_string(c.lanes)},
                          {"outputs", c.needed ? "needed" : "all"},
                          {"tile_dealing", c.dealing},
                          {"tile_grid", c.square_grid ? "square" : "rows"}};
  const auto machine = make_machine("tensordash", settings);
  BruteConfig brute{c.rows,      c.columns, c.tiles,
                    c.lanes,     c.depth,   brute_movements(c.connectivity, c.lanes, c.depth),
                    c.decoupled, c.two_side};
  brute.square_grid = c.square_grid;
  brute.dealing = c.dealing;
  brute.needed = c.needed;
  for (const Operation op : kOperations) {
    const OpResult fast = machine->simulate(layer, op, {Engine::kFast, seed});
    const BruteResult expected =
        brute_tensordash(layer, op, choose_scheduled(layer, op, OperandRule::kSparser), brute);
    const std::string where = layer.shape.describe() + " n" + std::to_string(layer.shape.n) + " " +
                              std::string(operation_name(op)) + " " + c.connectivity + " depth " +
                              std::to_string(c.depth) + (c.two_side ? " two-side" : "") +
                              (c.decoupled ? " decoupled" : "") + (c.needed ? " needed" : "") + " rows " +
                              std::to_string(c.rows) + " lanes " + std::to_string(c.lanes) + " seed " +
                              std::to_string(seed);
    const std::int64_t dense = testing::simulate_baseline(*machine, layer, op).cycles;
    ASSERT_EQ(dense, expected.dense_cycles) << where;
    ASSERT_EQ(fast.cycles, expected.cycles) << where;
    ASSERT_EQ(fast.scheduled_macs, expected.scheduled_macs) << where;
    ASSERT_EQ(fast.effectual_macs, expected.effectual_macs) << where;
    ASSERT_LE(fast.cycles, dense) << where;
    if (!c.needed) {
      ASSERT_GE(fast.cycles * c.depth, dense) << where;
    }
    // The functional engine throws if a value differs from the reference convolution.
    if (functional) {
      ASSERT_EQ(machine->simulate(layer, op, {Engine::kFunctional, seed}), fast) << where;
    }
  }
}

// Shapes of one kind; the counts below are what the suite promises.
enum class Kind { kAny, kStride, kDilation, kGroups, kTails, kOblong, kLinear, kProducts };

LayerShape shape_of(Kind kind, Random& random) {
  for (;;) {
    LayerShape s = random_shape(random, {20, 5, 2});
    if (kind == Kind::kProducts) return random_product_shape(random);
    if (kind == Kind::kLinear) {
      return LayerShape::linear(random.integer(1, 36), random.integer(1, 40), random.integer(1, 20));
    }
    const bool conv = s.kind == LayerKind::kConv2d;
    const bool wanted = kind == Kind::kAny || (kind == Kind::kStride && (s.stride.h > 1 || s.stride.w > 1)) ||
                        (kind == Kind::kDilation && (s.dilation.h > 1 || s.dilation.w > 1)) ||
                        (kind == Kind::kGroups && s.groups > 1) ||
                        (kind == Kind::kTails && conv && s.c_per_group() % 16 != 0 && s.c_per_group() > 16) ||
                        (kind == Kind::kOblong && s.kernel.h != s.kernel.w);
    if (wanted) return s;
  }
}

class TensorDashConformance : public ::testing::TestWithParam<std::pair<Kind, int>> {};

TEST_P(TensorDashConformance, FunctionalFastAndBruteForceAgree) {
  const auto [kind, count] = GetParam();
  RecordProperty("layers", count);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = static_cast<std::uint64_t>(kind) * 1000003 + static_cast<std::uint64_t>(i);
    Random random(seed);
    const LayerShape shape = shape_of(kind, random);
    const Case c = random_case(random);
    const Trace trace =
        random_trace(seed, shape, random.chance(0.3) ? SyntheticContent::kValues : SyntheticContent::kMasks);
    ASSERT_NO_FATAL_FAILURE(check_layer(trace.layers()[0], c, seed, true));
  }
}

std::string kind_name(const ::testing::TestParamInfo<std::pair<Kind, int>>& param) {
  constexpr std::array kNames{"Any", "Stride", "Dilation", "Groups", "Tails", "Oblong", "Linear", "Products"};
  return kNames[static_cast<std::size_t>(param.param.first)];
}

INSTANTIATE_TEST_SUITE_P(Layers, TensorDashConformance,
                         ::testing::Values(std::pair{Kind::kAny, 4000}, std::pair{Kind::kStride, 1000},
                                           std::pair{Kind::kDilation, 1000}, std::pair{Kind::kGroups, 1000},
                                           std::pair{Kind::kTails, 1000}, std::pair{Kind::kOblong, 1000},
                                           std::pair{Kind::kLinear, 1000}, std::pair{Kind::kProducts, 500}),
                         kind_name);

// Larger layers, on which many groups share a vector and a thread: fast against brute force only.
TEST(TensorDashWide, FastEqualsBruteForce) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    const LayerShape shape = random_shape(random, {150, 14, 2});
    const Trace trace = random_trace(seed, shape);
    Case c;
    c.depth = seed % 3 == 0 ? 2 : 3;
    ASSERT_NO_FATAL_FAILURE(check_layer(trace.layers()[0], c, seed, false));
  }
}

}  // namespace
}  // namespace lacuna::testing
