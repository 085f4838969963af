// `dense` and `tensordash` against the chip of tiles written a second time (tile_brute.hpp). Their two
// engines share the grid and the memory, so that comparing the engines finds no error there; this does.
#include "conformance/tile_brute.hpp"

#include <gtest/gtest.h>
#include <map>

#include "base/testing.hpp"
#include "sim/result_fields.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna {
namespace {

using testing::make_machine, testing::Settings, testing::TileBruteConfig;

// Parameters far from their defaults as well: small scratchpads, narrow memories, odd numbers of tiles.
TileBruteConfig random_config(Random& random) {
  TileBruteConfig config{.square_grid = true, .in_turns = true};  // the defaults of the machines
  if (random.chance(0.2)) return config;
  const auto pick = [&](std::initializer_list<std::int64_t> values) {
    return values.begin()[random.integer(0, static_cast<std::int64_t>(values.size()) - 1)];
  };
  config.tiles = pick({1, 2, 3, 4, 6, 8, 12, 16});
  config.rows = random.integer(1, 6);
  config.columns = random.integer(1, 6);
  config.lanes = pick({8, 16, 16, 32});
  config.square_grid = random.chance(0.5);
  config.in_turns = random.chance(0.5);
  config.value_bytes = pick({2, 4});
  config.frequency_mhz = static_cast<double>(pick({200, 500, 933}));
  config.dram_channels = random.integer(1, 4);
  config.dram_channel_bits = pick({16, 24, 64});
  config.dram_mts = pick({200, 1600, 3200});
  config.dram_page_bytes = pick({64, 256, 2048});
  config.dram_row_ns = static_cast<double>(random.integer(0, 400)) / 4;
  config.dram_banks = pick({1, 4, 8});
  config.dram_controller = random.chance(0.7);
  config.dram_refresh_percent = static_cast<double>(random.integer(0, 80)) / 4;
  config.dram_turnaround_ns = static_cast<double>(pick({0, 20, 68, 1000}));
  config.dram_activate_ns = static_cast<double>(pick({0, 5, 10, 40}));
  config.dram_turn_kb = pick({1, 4, 64});
  config.dram_compression = random.chance(0.7);
  config.sram_banks = random.integer(1, 6);
  config.multicast = random.integer(1, 6);
  config.scratchpad_banks = random.integer(1, 4);
  config.chunk_steps = random.integer(1, 5);
  config.scratchpad_rows = random.integer(2 * config.chunk_steps, 20);
  config.transposers = random.integer(1, 20);
  config.transposer_cycles = random.integer(1, 40);
  config.transpose_a = random.chance(0.5);
  return config;
}

Settings settings_of(const TileBruteConfig& config, bool modelled) {
  const auto text = [](auto value) { return std::to_string(value); };
  return {{"memory", modelled ? "modelled" : "ideal"},
          {"tiles", text(config.tiles)},
          {"rows", text(config.rows)},
          {"columns", text(config.columns)},
          {"lanes", text(config.lanes)},
          {"tile_grid", config.square_grid ? "square" : "rows"},
          {"tile_dealing", !config.in_turns        ? "blocks"
                           : config.tiles % 2 == 0 ? "turns"
                                                   : "queue"},
          {"arithmetic", config.value_bytes == 4 ? "fp32" : "bfloat16"},
          {"frequency_mhz", text(config.frequency_mhz)},
          {"dram_channels", text(config.dram_channels)},
          {"dram_channel_bits", text(config.dram_channel_bits)},
          {"dram_mts", text(config.dram_mts)},
          {"dram_page_bytes", text(config.dram_page_bytes)},
          {"dram_row_ns", text(config.dram_row_ns)},
          {"dram_banks", text(config.dram_banks)},
          {"dram_timing", config.dram_controller ? "controller" : "bus"},
          {"dram_refresh_percent", text(config.dram_refresh_percent)},
          {"dram_turnaround_ns", text(config.dram_turnaround_ns)},
          {"dram_activate_ns", text(config.dram_activate_ns)},
          {"dram_turn_kb", text(config.dram_turn_kb)},
          {"dram_compression", config.dram_compression ? "on" : "off"},
          {"sram_banks", text(config.sram_banks)},
          {"multicast", text(config.multicast)},
          {"scratchpad_banks", text(config.scratchpad_banks)},
          {"scratchpad_rows", text(config.scratchpad_rows)},
          {"chunk_steps", text(config.chunk_steps)},
          {"transposers", text(config.transposers)},
          {"transposer_cycles", text(config.transposer_cycles)},
          {"transposed", config.transpose_a ? "all" : "text"}};
}

void expect_equal(const Activity& got, const Activity& expected) {
  for (const ActivityField& field : kActivityFields)
    EXPECT_TRUE(field.get(got) == field.get(expected)) << field.name;
}

// Result of a machine with `memory=modelled`, if its tiles alone take that many cycles.
void check_machine(const OpResult& modelled, std::int64_t tiles_alone, const OperationWork& work,
                   Operand rows_operand, const TileBruteConfig& config) {
  const auto expected = [&](std::int64_t compute_cycles) {
    return testing::brute_tile_memory(work.layer, work.op, rows_operand, work.batch_scale, compute_cycles,
                                      config);
  };
  const auto real = expected(tiles_alone);
  expect_equal(*modelled.activity, real.activity);
  EXPECT_EQ(modelled.cycles, real.total);
}

TEST(TileBrute, MachinesOfTilesEqualIt) {
  std::map<Bound, int> bounds;
  int conflicts = 0;
  for (std::uint64_t seed = 1; seed <= random_cases(1000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const TileBruteConfig config = random_config(random);
    const Trace trace = seed % 4 == 0 ? testing::random_products(seed) : testing::random_trace(seed);
    const double batch_scale = random.chance(0.3) ? 1 : static_cast<double>(random.integer(1, 200)) / 3;
    const auto dense = make_machine("dense", settings_of(config, true));
    const auto tensordash = make_machine("tensordash", settings_of(config, true));
    const auto ideal = make_machine("tensordash", settings_of(config, false));
    for (const Operation op : kOperations) {
      SCOPED_TRACE(operation_name(op));
      const OperationWork work(trace.layers()[0], op, batch_scale);
      const Operand rows_operand = testing::brute_sparser_operand(work.layer, op);
      const std::int64_t cycles = testing::brute_dense_cycles(work.layer, op, rows_operand, config);

      const OpResult of_dense = dense->simulate(work, {Engine::kFast, seed});
      check_machine(of_dense, cycles, work, rows_operand, config);
      if (seed % 10 == 0) {
        EXPECT_EQ(dense->simulate(work, {Engine::kFunctional, seed}), of_dense);
      }

      // TensorDash's own cycles have a twin in tensordash_brute.hpp.
      const OpResult of_tensordash = tensordash->simulate(work, {Engine::kFast, seed});
      EXPECT_EQ(scheduled_name(of_tensordash.scheduled), scheduled_name(rows_operand));
      const OpResult alone = ideal->simulate(work, {Engine::kFast, seed});
      check_machine(of_tensordash, alone.cycles, work, rows_operand, config);
      ++bounds[of_dense.activity->bound];
      conflicts += of_dense.activity->sram_conflict_cycles > 0 ? 1 : 0;
      if (HasFailure()) return;
    }
  }
  // The layers reach every case.
  for (const Bound bound : {Bound::kCompute, Bound::kDram, Bound::kTransposers, Bound::kSram}) {
    EXPECT_GT(bounds[bound], static_cast<int>(random_cases(30))) << bound_name(bound);
  }
  EXPECT_GT(conflicts, static_cast<int>(random_cases(30)));
}

}  // namespace
}  // namespace lacuna
