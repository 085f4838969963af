#include "sim/tile/tile_memory.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/testing.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna {
namespace {

Params tile_machine(const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<ParamSpec> specs = TilePlan::params();
  for (ParamSpec& spec : memory_params()) specs.push_back(std::move(spec));
  Params params("tiles", std::move(specs));
  for (const auto& [key, value] : settings) params.set(key, value, "test");
  return params;
}

TileTiming run(const Params& params, const Layer& layer, Operation op, double batch_scale = 1) {
  const TilePlan plan = TilePlan::from(params);
  const Placement placement = place_operation(layer, op, plan);
  const std::int64_t cycles = placement.dense_cycles();
  return TileMemory(params, plan.tile).time(OperationWork(layer, op, batch_scale), placement, cycles);
}

Trace one_layer(const LayerShape& shape, double zeros_a, double zeros_g) {
  SyntheticSpec spec;
  const auto zeros = [](double share) { return share > 0 ? ZeroSpec::uniform(share) : ZeroSpec::dense(); };
  spec.layers.push_back({"layer", shape, 1, zeros(zeros_a), ZeroSpec::dense(), zeros(zeros_g)});
  return make_synthetic(spec);
}

// A 1x1 convolution of 64 to 64 channels over 16x16 positions, counted manually.
TEST(TileMemory, CountsByHand) {
  const Trace trace = one_layer(LayerShape::conv2d(1, 64, 64, {16, 16}, {1, 1}), 0.5, 0);
  const Layer& layer = trace.layers()[0];
  const Params params = tile_machine({{"tiles", "1"}, {"dram_compression", "off"}, {"dram_timing", "bus"}});
  const Activity a = run(params, layer, Operation::kForward).activity;
  // Rows: 256 windows (A has the zeros); columns: 64 filters; 4 steps. Blocks of 32 streams.
  EXPECT_EQ(a.bm_reads, 256 * 4 * (64 / 32));
  EXPECT_EQ(a.am_reads, 64 * 4 * (256 / 32));
  EXPECT_EQ(a.scratchpad_writes, a.am_reads + a.bm_reads);
  EXPECT_EQ(a.scratchpad_reads, 256 * 4 * (64 / 4) + 64 * 4 * (256 / 4));
  EXPECT_EQ(a.psum_writes, 256 * 64 * 2);  // 4 steps in chunks of 3
  EXPECT_EQ(a.psum_reads, a.psum_writes);
  EXPECT_EQ(a.samples.dram_read_bytes, 256 * 64 * 4);
  EXPECT_EQ(a.weights.dram_read_bytes, 64 * 64 * 4);
  EXPECT_EQ(a.samples.dram_write_bytes, 256 * 64 * 4);
  EXPECT_EQ(a.weights.dram_write_bytes, 0);
  EXPECT_EQ(a.samples.fill_rows, 256 * 4);
  EXPECT_EQ(a.samples.output_rows, 256 * 4);
  EXPECT_EQ(a.samples.dram_activations, 2 * 256 * 64 * 4 / 2048);
  EXPECT_EQ(a.transposed_groups, 0);
  EXPECT_EQ(a.dram_cycles, static_cast<std::int64_t>(std::ceil((2 * 65536 + 16384) / 204.8)));
}

// One read of AM or BM feeds `multicast` tiles; each tile writes its own scratchpad.
TEST(TileMemory, MulticastSavesReadsAndNoWrites) {
  const Trace trace = one_layer(LayerShape::conv2d(1, 64, 256, {32, 32}, {3, 3}, {1, 1}, {1, 1}), 0.5, 0.5);
  const Layer& layer = trace.layers()[0];
  const Activity one = run(tile_machine({{"multicast", "1"}}), layer, Operation::kForward).activity;
  const Activity four = run(tile_machine({{"multicast", "4"}}), layer, Operation::kForward).activity;
  EXPECT_EQ(one.scratchpad_writes, one.am_reads + one.bm_reads);
  EXPECT_EQ(four.scratchpad_writes, one.scratchpad_writes);
  EXPECT_LT(four.am_reads + four.bm_reads, one.am_reads + one.bm_reads);
  EXPECT_GE(4 * (four.am_reads + four.bm_reads), one.am_reads + one.bm_reads);
}

// [TensorDash §3.4]: "for the weights and the gradients"; transposed=all adds A in A*G.
TEST(TileMemory, WhichTensorsAreTransposed) {
  const Trace trace = one_layer(LayerShape::conv2d(2, 32, 48, {8, 8}, {3, 3}, {1, 1}, {1, 1}), 0.2, 0.7);
  const Layer& layer = trace.layers()[0];
  const Params params = tile_machine({{"transposed", "all"}});
  const Activity text = run(tile_machine({}), layer, Operation::kWeightGrad).activity;
  EXPECT_EQ(text.transposed_groups, (text.bm_reads + 15) / 16);  // G is on the rows
  const Activity forward = run(params, layer, Operation::kForward).activity;
  const Activity input = run(params, layer, Operation::kInputGrad).activity;
  const Activity weight = run(params, layer, Operation::kWeightGrad).activity;
  EXPECT_EQ(forward.transposed_groups, 0);
  EXPECT_EQ(input.transposed_groups, (input.am_reads + 15) / 16);  // W is on the columns
  EXPECT_EQ(weight.transposed_groups, (weight.am_reads + 15) / 16 + (weight.bm_reads + 15) / 16);
  // Rounds of 15 groups, and one in which the first ones are only filled.
  EXPECT_EQ(weight.transposer_cycles, ((weight.transposed_groups + 14) / 15 + 1) * 16);
}

// The first layer's three channels: a group gives three blocks, not sixteen.
TEST(TileMemory, TransposersOfFewChannels) {
  const Trace trace = one_layer(LayerShape::conv2d(1, 3, 16, {16, 16}, {3, 3}), 0, 0.5);
  const Params params = tile_machine({{"transposed", "all"}});
  const Activity a = run(params, trace.layers()[0], Operation::kWeightGrad).activity;
  EXPECT_EQ(a.transposed_groups, (a.am_reads + 2) / 3 + (a.bm_reads + 15) / 16);
}

// 20 channels are a block of 16 and one of 4, and each takes a separate fill; so do the two blocks that the
// channels 20..39 of a second convolution group lie in.
TEST(TileMemory, TransposersOfChannelsThatFillNoWholeBlock) {
  const auto groups = [](std::int64_t convolution_groups) {
    const Trace trace =
        one_layer(LayerShape::conv2d(1, 20 * convolution_groups, 16 * convolution_groups, {4, 4}, {1, 1},
                                     {1, 1}, {0, 0}, {1, 1}, convolution_groups),
                  0.5, 0.5);
    const Params params = tile_machine({{"tiles", "1"}, {"transposed", "all"}});
    return run(params, trace.layers()[0], Operation::kWeightGrad).activity.transposed_groups;
  };
  EXPECT_EQ(groups(1), 2 + 1);
  EXPECT_EQ(groups(2), 2 + 1 + 2 + 1);
}

// Block by block, with two buffers each: the closed form on thousands of chips.
TEST(TransposerTiming, ClosedFormEqualsEveryBlock) {
  for (std::uint64_t seed = 1; seed <= random_cases(5000); ++seed) {
    Random random(seed);
    const TransposerTiming timing{random.integer(1, 40), random.integer(1, 40),
                                  random.chance(0.5) ? 16 : random.integer(1, 64)};
    TransposerBank bank(timing);
    const std::int64_t groups = random.integer(0, 300);
    for (std::int64_t group = 0; group < groups; ++group) bank.add_group();
    ASSERT_EQ(bank.finish(), timing.total(groups)) << "seed " << seed;
  }
}

// Conservation over random layers: bytes read are bytes needed, every output is written once, weights are
// apart.
TEST(TileMemory, BytesReadAreBytesNeeded) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Trace trace = testing::random_trace(seed);
    const Layer& layer = trace.layers()[0];
    for (const char* compression : {"on", "off"}) {
      for (const char* type : {"fp32", "bfloat16"}) {
        const std::int64_t bytes = std::string(type) == "fp32" ? 4 : 2;
        const Params params = tile_machine({{"dram_compression", compression}, {"arithmetic", type}});
        for (const Operation op : kOperations) {
          const TileTiming result = run(params, layer, op);
          const Activity& a = result.activity;
          const auto needed = [&](std::int64_t elements, std::int64_t nonzeros) {
            return std::string(compression) == "on" ? nonzeros * bytes + (elements + 7) / 8
                                                    : elements * bytes;
          };
          const auto tensor = [&](Operand role) {
            return needed(layer.tensor(role).elements(), layer.tensor(role).nonzeros);
          };
          const auto [primary, secondary] = operands(op);
          EXPECT_EQ(a.samples.dram_read_bytes + a.weights.dram_read_bytes,
                    tensor(primary) + tensor(secondary))
              << "seed " << seed;
          EXPECT_EQ(a.weights.dram_read_bytes, op == Operation::kWeightGrad ? 0 : tensor(Operand::kW));
          const std::int64_t outputs = result_elements(layer.shape, op);
          const std::int64_t written = op == Operation::kForward     ? needed(outputs, layer.g.nonzeros)
                                       : op == Operation::kInputGrad ? needed(outputs, layer.a.nonzeros)
                                                                     : needed(outputs, outputs);
          EXPECT_EQ(a.samples.dram_write_bytes, op == Operation::kWeightGrad ? 0 : written);
          EXPECT_EQ(a.weights.dram_write_bytes, op == Operation::kWeightGrad ? written : 0);
          EXPECT_EQ(a.samples.output_rows + a.weights.output_rows, (outputs + 15) / 16);
          EXPECT_EQ(result.cycles, a.compute_cycles) << "memory=ideal changes no cycles";
          EXPECT_GE(a.scratchpad_writes, a.am_reads + a.bm_reads);
          EXPECT_GE(a.scratchpad_reads, a.scratchpad_writes);
        }
      }
    }
  }
}

// The time of an operation is that of its slowest part plus the fill, and the result says which part it was.
TEST(TileMemory, SaysWhatBoundsAnOperation) {
  const Trace trace = one_layer(LayerShape::conv2d(1, 64, 64, {32, 32}, {3, 3}, {1, 1}, {1, 1}), 0.5, 0.5);
  const Layer& layer = trace.layers()[0];
  const auto with = [&](std::vector<std::pair<std::string, std::string>> settings, Operation op) {
    settings.emplace_back("memory", "modelled");
    return run(tile_machine(settings), layer, op);
  };
  const auto check = [&](const TileTiming& result, Bound bound, std::int64_t Activity::*cycles) {
    const Activity& a = result.activity;
    EXPECT_EQ(a.bound, bound) << bound_name(a.bound);
    EXPECT_EQ(result.cycles, a.*cycles + a.fill_cycles);
  };
  check(with({}, Operation::kForward), Bound::kCompute, &Activity::compute_cycles);
  check(with({{"dram_channels", "1"}, {"dram_mts", "100"}}, Operation::kForward), Bound::kDram,
        &Activity::dram_cycles);
  check(with({{"transposers", "1"}, {"multicast", "1"}, {"transposed", "all"}}, Operation::kWeightGrad),
        Bound::kTransposers, &Activity::transposer_cycles);
  check(with({{"sram_banks", "1"},
              {"multicast", "1"},
              {"tiles", "64"},
              {"tile_grid", "rows"},
              {"chunk_steps", "24"}},
             Operation::kForward),
        Bound::kSram, &Activity::sram_cycles);
  check(with({{"dram_row_ns", "10000"}, {"dram_banks", "1"}}, Operation::kForward), Bound::kDram,
        &Activity::dram_cycles);
}

// Weights are read once per batch: these samples pay their share of it.
TEST(TileMemory, WeightsAreSpreadOverTheBatch) {
  const Trace trace = one_layer(LayerShape::linear(4, 512, 512), 0.5, 0.5);
  const Layer& layer = trace.layers()[0];
  const Params params = tile_machine({{"memory", "modelled"}});
  const TileTiming alone = run(params, layer, Operation::kForward, 1);
  const TileTiming of_batch = run(params, layer, Operation::kForward, 64);
  EXPECT_EQ(alone.activity.weights, of_batch.activity.weights);
  EXPECT_EQ(alone.activity.samples, of_batch.activity.samples);
  EXPECT_GT(alone.activity.dram_cycles, 20 * of_batch.activity.dram_cycles);
  EXPECT_EQ(alone.activity.bound, Bound::kDram);
}

TEST(TileMemory, StridedReadsMeetInBanks) {
  const Trace trace = one_layer(LayerShape::conv2d(1, 32, 32, {16, 16}, {3, 3}, {2, 2}, {1, 1}), 0.5, 0.5);
  const Params params = tile_machine({});
  EXPECT_GT(run(params, trace.layers()[0], Operation::kForward).activity.sram_conflict_cycles, 0);
  EXPECT_EQ(run(params, trace.layers()[0], Operation::kInputGrad).activity.sram_conflict_cycles, 0);
}

TEST(TileMemory, RefusesScratchpadsThatHoldNothing) {
  const Params params = tile_machine({{"chunk_steps", "30"}});
  EXPECT_THROW(TileMemory(params, TilePlan::from(params).tile), InputError);
}

// A33: 81,920 bytes are read and 65,536 written, in one turn of 64 KB.
TEST(TileMemory, ControllersLoseTimeToRefreshAndTurns) {
  const Trace trace = one_layer(LayerShape::conv2d(1, 64, 64, {16, 16}, {1, 1}), 0.5, 0);
  const auto cycles = [&](std::vector<std::pair<std::string, std::string>> settings) {
    settings.emplace_back("dram_compression", "off");
    return run(tile_machine(settings), trace.layers()[0], Operation::kForward).activity.dram_cycles;
  };
  const double bus = (2 * 65536 + 16384) / 204.8;
  EXPECT_EQ(cycles({{"dram_timing", "bus"}}), 720);
  EXPECT_EQ(cycles({}), static_cast<std::int64_t>(std::ceil((bus + 34) / (1 - 0.0717))));
  EXPECT_EQ(cycles({{"dram_refresh_percent", "0"}, {"dram_turnaround_ns", "0"}}), 720);
  EXPECT_EQ(cycles({{"dram_refresh_percent", "0"}, {"dram_turn_kb", "16"}}),
            static_cast<std::int64_t>(std::ceil(bus + 4 * 34)));
  // 72 rows of parts, 16 of which open rows at the same time.
  EXPECT_EQ(
      cycles({{"dram_refresh_percent", "0"}, {"dram_turnaround_ns", "0"}, {"dram_activate_ns", "1000"}}),
      72 / 16 * 500 + 250);
}

// A transposed operand that moves in the order of its use opens a row for nearly every group; one that moves
// as it lies, one per row.
TEST(TileMemory, GroupsInTheOrderOfUseOpenMoreRows) {
  const Trace trace = one_layer(LayerShape::conv2d(1, 512, 512, {16, 16}, {3, 3}, {1, 1}, {1, 1}), 0, 0);
  const Layer& layer = trace.layers()[0];
  const auto rows = [&](const char* order, Operation op) {
    const Activity a =
        run(tile_machine({{"dram_compression", "off"}, {"dram_order", order}}), layer, op).activity;
    return std::pair(a.samples.dram_activations, a.weights.dram_activations);
  };
  EXPECT_EQ(rows("needed", Operation::kForward), rows("stored", Operation::kForward));
  // W in W*G: groups of 1 KB, 32 side by side in the 32 KB that lie in one row of all parts; each of the 9 x
  // 32 rows is opened 32 times, for 8 requests of 128 bytes in 4 channels of 4 parts.
  const auto stored = rows("stored", Operation::kInputGrad), needed = rows("needed", Operation::kInputGrad);
  EXPECT_EQ(needed.first, stored.first);
  EXPECT_EQ(stored.second, 512 * 512 * 9 * 4 / 2048);
  EXPECT_EQ(needed.second, 9 * 32 * 32 * 16);
}

}  // namespace
}  // namespace lacuna
