// Examples worked by hand from the definition (docs/models/sparten.md).
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "base/error.hpp"
#include "energy/energy.hpp"
#include "models/sparten/testing/results.hpp"
#include "sim/testing/random_layer.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

using testing::action;
using testing::counter;
using testing::dense_trace;
using testing::Settings;

struct Run {
  std::int64_t first, last;  // first <= element < last is not zero
};
std::vector<bool> bits(std::int64_t elements, const std::vector<Run>& runs) {
  std::vector<bool> result(static_cast<std::size_t>(elements));
  for (const Run& run : runs) {
    std::fill(result.begin() + run.first, result.begin() + run.last, true);
  }
  return result;
}

// One row of 256 inputs, two filters. Chunk 0: A full, filters of 5 and 0 non-zeros. Chunk 1: A has elements
// 0 to 9, the filters 0 to 19 and 8 to 12.
Trace two_filters() {
  TraceBuilder builder("two filters");
  builder.add_layer("layer", LayerShape::linear(1, 256, 2))
      .mask(Operand::kA, bits(256, {{0, 128}, {128, 138}}))
      .mask(Operand::kW, bits(512, {{0, 5}, {128, 148}, {256 + 136, 256 + 141}}));
  return builder.build();
}

TEST(SpartenByHand, JoinsAndBarriers) {
  const Trace trace = two_filters();
  const Layer& layer = trace.layers()[0];
  const OpResult r = testing::sparten()->simulate(layer, Operation::kForward);
  EXPECT_EQ(r.effectual_macs, 5 + 10 + 2);
  EXPECT_EQ(r.cycles, 5 + 10);  // the slower filter at each chunk
  EXPECT_EQ(counter(r, "joins"), 4);
  EXPECT_EQ(counter(r, "empty_joins"), 1);
  EXPECT_EQ(counter(r, "empty_join_cycles"), 1);
  EXPECT_EQ(counter(r, "barrier_cycles"), (5 - 1) + (10 - 2));
  EXPECT_EQ(counter(r, "idle_unit_cycles"), (4096 - 2) * 15);
  EXPECT_EQ(r.scheduled, ScheduledOperands::both());
  const OpResult free = testing::sparten({{"empty_join", "free"}})->simulate(layer, Operation::kForward);
  EXPECT_EQ(free.cycles, 15);
  EXPECT_EQ(counter(free, "empty_join_cycles"), 0);
  EXPECT_EQ(counter(free, "barrier_cycles"), 5 + 8);
  // A chunk of 256: one barrier.
  const OpResult wide = testing::sparten({{"chunk", "256"}})->simulate(layer, Operation::kForward);
  EXPECT_EQ(wide.cycles, 15);
  EXPECT_EQ(counter(wide, "barrier_cycles"), 15 - 2);
}

TEST(SpartenByHand, Actions) {
  const Trace trace = two_filters();
  const Layer& layer = trace.layers()[0];
  const OpResult r = testing::sparten()->simulate(layer, Operation::kForward);
  EXPECT_EQ(action(r, "units", "mac", "cycle"), 4096 * 15);
  EXPECT_EQ(action(r, "inner_join", "join_input", "cycle"), 4096 * 15 * 128);
  // Two chunks arrive at two units; each of four joins needs the held mask's sums.
  EXPECT_EQ(action(r, "inner_join", "prefix_sum", "bit"), (4 + 4) * 128);
  EXPECT_EQ(action(r, "output_compression", "prefix_sum", "bit"), 2);
  // Two values per match and two masks of 4 x 32 bits per join.
  EXPECT_EQ(action(r, "chunk_buffers", "chunk_buffer", "read"), 2 * 17 + 4 * 2 * 4);
  // 138 broadcast values in two units and 30 held ones; four broadcast and four held masks.
  EXPECT_EQ(action(r, "chunk_buffers", "chunk_buffer", "write"), 2 * 138 + 30 + 8 * 4);
  EXPECT_EQ(action(r, "accumulators", "accumulator", "read"), 3 + 2);
  EXPECT_EQ(action(r, "accumulators", "accumulator", "write"), 3);
  // Rows of 16 x 32 bits: 138 values and 256 bits, 30 values and 512 bits, 2 values and 2 bits.
  EXPECT_EQ(r.activity->am_reads, 10);
  EXPECT_EQ(r.activity->bm_reads, 3);
  EXPECT_EQ(r.activity->samples.fill_rows, 10);
  EXPECT_EQ(r.activity->weights.fill_rows, 3);
  EXPECT_EQ(r.activity->samples.output_rows, 1);
  EXPECT_EQ(action(r, "sram", "sram", "read"), 10 + 3 + 1);
  EXPECT_EQ(action(r, "sram", "sram", "write"), 10 + 3 + 1);
  EXPECT_EQ(action(r, "dram", "dram", "bit"), 8 * ((138 * 4 + 32) + (30 * 4 + 64) + (2 * 4 + 1)));
  const OpResult gated = testing::sparten({{"idle_logic", "gated"}})->simulate(layer, Operation::kForward);
  EXPECT_EQ(action(gated, "units", "mac", "cycle"), 17);
  EXPECT_EQ(action(gated, "inner_join", "join_input", "cycle"), 18 * 128);
}

// 128 rows on 128 clusters of two units; four filters, of which all non-zeros match.
OpResult four_filters(std::int64_t channels, const std::vector<bool>& weights, const char* balancing) {
  TraceBuilder builder("four filters");
  builder.add_layer("layer", LayerShape::linear(128, channels, 4)).mask(Operand::kW, weights);
  const Trace trace = builder.build();
  return testing::sparten({{"units", "256"}, {"cluster_units", "2"}, {"balancing", balancing}})
      ->simulate(trace.layers()[0], Operation::kForward);
}

TEST(SpartenByHand, PairsByDensity) {
  const std::vector<bool> weights = bits(512, {{0, 40}, {128, 158}, {256, 276}, {384, 394}});
  // Two rounds of two filters; or 40 + 30 with 20 + 10; or 40 + 10 with 30 + 20.
  EXPECT_EQ(four_filters(128, weights, "none").cycles, 40 + 20);
  EXPECT_EQ(four_filters(128, weights, "unsorted").cycles, 70);
  EXPECT_EQ(four_filters(128, weights, "filters").cycles, 50);
  EXPECT_EQ(four_filters(128, weights, "chunks").cycles, 50);
  EXPECT_EQ(counter(four_filters(128, weights, "filters"), "barrier_cycles"), 0);
  EXPECT_EQ(counter(four_filters(128, weights, "none"), "barrier_cycles"), 128 * (10 + 10));
}

TEST(SpartenByHand, PairsAtEachChunk) {
  // Filters of (30, 0), (0, 28), (26, 0), (24, 0) non-zeros in two chunks.
  const std::vector<bool> weights = bits(1024, {{0, 30}, {384, 412}, {512, 538}, {768, 792}});
  // By filters: 30 + 24 with 1 + 26, then 1 + 1 with 28 + 1. By chunks: 30 + 1 with 26 + 24, then
  // 28 + 1.
  EXPECT_EQ(four_filters(256, weights, "filters").cycles, 54 + 29);
  EXPECT_EQ(four_filters(256, weights, "chunks").cycles, 50 + 29);
}

TEST(SpartenByHand, TrafficToTheUnits) {
  const std::vector<bool> weights = bits(512, {{0, 40}, {128, 158}, {256, 276}, {384, 394}});
  // Each row of 128 values is sent for two rounds of two filters, into two units each time. Each cluster has
  // one row, so it takes in the 100 weights once; four clusters share a read.
  const OpResult alone = four_filters(128, weights, "none");
  EXPECT_EQ(counter(alone, "broadcast_values_read"), 128 * 128 * 2);
  EXPECT_EQ(counter(alone, "held_values_read"), 100 * 128 / 4);
  EXPECT_EQ(counter(alone, "buffer_values_written"), 128 * 128 * 4 + 128 * 100);
  // Two filters per unit: one round.
  const OpResult paired = four_filters(128, weights, "filters");
  EXPECT_EQ(counter(paired, "broadcast_values_read"), 128 * 128);
  EXPECT_EQ(counter(paired, "held_values_read"), 100 * 128 / 4);
  EXPECT_EQ(counter(paired, "buffer_values_written"), 128 * 128 * 2 + 128 * 100);
  // Rows of 16 x 32 bits: values and a mask of 128 bits per chunk.
  EXPECT_EQ(paired.activity->am_reads, 128 * (128 * 32 + 128) / 512);
  EXPECT_EQ(paired.activity->bm_reads, 32 * (100 * 32 + 4 * 128) / 512);
}

// A unit keeps its weights while `held_reuse` rows pass.
TEST(SpartenByHand, HeldChunksAreReused) {
  const Trace trace = dense_trace(LayerShape::linear(256, 128, 2));
  const auto held_values = [&](const char* reuse) {
    const auto machine = testing::sparten(
        {{"units", "256"}, {"cluster_units", "128"}, {"balancing", "none"}, {"held_reuse", reuse}});
    return counter(machine->simulate(trace.layers()[0], Operation::kForward), "held_values_read");
  };
  // Two clusters of 128 rows share the reads.
  EXPECT_EQ(held_values("32"), 2 * 128 * 4);
  EXPECT_EQ(held_values("100"), 2 * 128 * 2);
  EXPECT_EQ(held_values("1"), 2 * 128 * 128);
}

// Where clusters would have no work, filters are not paired.
TEST(SpartenByHand, SmallProductsAreNotPaired) {
  TraceBuilder builder("small");
  builder.add_layer("layer", LayerShape::linear(1, 128, 64));
  const Trace trace = builder.build();
  EXPECT_EQ(testing::sparten()->simulate(trace.layers()[0], Operation::kForward).cycles, 128);
}

TEST(SpartenByHand, BorderOfAWindow) {
  const Trace trace = dense_trace(LayerShape::conv2d(1, 2, 1, {1, 1}, {3, 3}, {1, 1}, {1, 1}));
  const auto run = [&](const Settings& settings) {
    return testing::sparten(settings)->simulate(trace.layers()[0], Operation::kForward);
  };
  EXPECT_EQ(run({}).cycles, 8 + 2);  // one chunk per tap, of which one meets the image
  EXPECT_EQ(run({{"empty_join", "broadcast"}}).cycles, 2);
  EXPECT_EQ(counter(run({{"empty_join", "broadcast"}}), "joins"), 1);
  EXPECT_EQ(counter(run({{"empty_join", "broadcast"}}), "joins_left_out"), 8);
  EXPECT_EQ(run({{"empty_join", "free"}}).cycles, 2);
  EXPECT_EQ(run({{"chunk_packing", "packed"}}).cycles, 2);  // 18 elements in one chunk
  EXPECT_EQ(counter(run({{"chunk_packing", "packed"}}), "joins"), 1);
}

TEST(SpartenByHand, StridedInputGradient) {
  // Four phases of one tap each; four positions on as many clusters.
  const Trace trace = dense_trace(LayerShape::conv2d(1, 1, 1, {4, 4}, {2, 2}, {2, 2}));
  EXPECT_EQ(testing::sparten()->simulate(trace.layers()[0], Operation::kInputGrad).cycles, 4);
}

TEST(SpartenByHand, WeightGradient) {
  // Two samples of four positions; A has 4 and 1 non-zeros in channel 0 and none in channel 1.
  TraceBuilder builder("weight gradient");
  builder.add_layer("layer", LayerShape::conv2d(2, 2, 3, {2, 2}, {1, 1}))
      .mask(Operand::kA, {true, false, true, false, true, false, true, false,  //
                          true, false, false, false, false, false, false, false});
  const Trace trace = builder.build();
  const auto run = [&](const Settings& settings) {
    return testing::sparten(settings)->simulate(trace.layers()[0], Operation::kWeightGrad);
  };
  EXPECT_EQ(run({}).cycles, 4 + 1);  // the clusters of channel 1 need one cycle per chunk
  EXPECT_EQ(counter(run({}), "joins"), 2 * 2 * 3);
  EXPECT_EQ(counter(run({}), "barrier_cycles"), 0);  // three units hold the same G
  EXPECT_EQ(counter(run({{"weight_grad_held", "A"}}), "barrier_cycles"), 3 * ((4 - 1) + (1 - 1)));
  EXPECT_EQ(counter(run({{"chunk_packing", "packed"}}), "joins"), 2 * 3);
}

TEST(Sparten, NoWorkAndAllWork) {
  SyntheticSpec spec;
  spec.layers.push_back({"zeros", LayerShape::conv2d(1, 128, 64, {8, 8}, {1, 1}), 1, ZeroSpec::all_zero(),
                         ZeroSpec::all_zero(), ZeroSpec::all_zero()});
  spec.layers.push_back({"full", LayerShape::conv2d(2, 256, 64, {8, 8}, {1, 1}), 1, ZeroSpec::dense(),
                         ZeroSpec::dense(), ZeroSpec::dense()});
  const Trace trace = make_synthetic(spec);
  const auto machine = testing::sparten();
  // 64 positions and two groups of 32 filters on 128 clusters, one chunk each.
  EXPECT_EQ(machine->simulate(trace.layers()[0], Operation::kForward).cycles, 1);
  EXPECT_EQ(
      testing::sparten({{"empty_join", "free"}})->simulate(trace.layers()[0], Operation::kForward).cycles, 0);
  // No zero anywhere: every multiplier works in every cycle.
  const OpResult full = machine->simulate(trace.layers()[1], Operation::kForward);
  EXPECT_EQ(full.cycles * 4096, full.macs);
}

TEST(Sparten, CountsDeclaredActionsAndTablesPriceThem) {
  const Trace trace = testing::random_trace(2, LayerShape::conv2d(2, 40, 70, {6, 6}, {3, 3}));
  for (const char* balancing : {"none", "unsorted", "filters", "chunks"}) {
    for (const char* arithmetic : {"fp32", "bfloat16"}) {
      const auto machine = testing::sparten({{"balancing", balancing}, {"arithmetic", arithmetic}});
      const Hardware hardware = *machine->hardware();
      const CostTable table = energy_table("", 0, hardware);
      EXPECT_NO_THROW(check_energy_costs(table, hardware, "sparten"));
      EXPECT_NO_THROW(check_area_costs(table, hardware, "sparten"));
      EXPECT_GT(area_mm2(hardware, table).of("inner_join"), 0);
      EXPECT_GT(area_mm2(hardware, table).of("chunk_buffers"), 0);
      for (const Operation op : kOperations) {
        const OpResult r = machine->simulate(trace.layers()[0], op);
        std::set<std::string> once;
        for (const ActionCount& count : r.actions) {
          EXPECT_TRUE(once.insert(count.component + count.part + count.action).second);
        }
        EXPECT_GT(energy_joules(hardware, r.actions, table).total(), 0);  // throws for one not declared
      }
    }
  }
}

TEST(Sparten, BaselineIsTheDenseMachineOfTheSameSize) {
  const auto machine = testing::sparten({{"units", "1024"}, {"memory", "modelled"}, {"chunk", "64"}});
  const auto baseline = machine->baseline();
  ASSERT_TRUE(baseline.has_value());
  EXPECT_EQ(baseline->model, "dense");
  const Settings expected{{"memory", "modelled"}, {"tiles", "4"}};
  EXPECT_EQ(baseline->settings, expected);
}

TEST(Sparten, RefusesMachinesThatCannotBe) {
  EXPECT_THROW(testing::sparten({{"units", "1000"}}), InputError);
  EXPECT_THROW(testing::sparten({{"cluster_units", "24"}}), InputError);
  EXPECT_NO_THROW(testing::sparten({{"cluster_units", "24"}, {"units", "768"}}));
  EXPECT_THROW(testing::sparten({{"balancing", "pairs"}}), InputError);
  EXPECT_THROW(testing::sparten({{"weight_grad_held", "W"}}), InputError);
}

}  // namespace
}  // namespace lacuna
