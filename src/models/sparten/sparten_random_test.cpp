// Both engines against a brute force, and laws that hold for every layer.
#include <gtest/gtest.h>

#include "base/parallel.hpp"
#include "base/testing.hpp"
#include "models/sparten/engine/join_kernel.hpp"
#include "models/sparten/testing/brute_force.hpp"
#include "models/sparten/testing/results.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna {
namespace {

using testing::action;
using testing::BruteCounts;
using testing::BruteForce;
using testing::BruteMachine;
using testing::counter;
using testing::Settings;

BruteMachine random_machine(Random& random) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random.integer(0, std::ssize(words) - 1)]);
  };
  BruteMachine machine;
  machine.units = random.chance(0.5) ? 256 : 512;
  machine.cluster_units = std::size_t{1} << random.integer(0, 5);
  const std::size_t sizes[] = {8, 10, 16, 33, 64, 100, 128, 192, 256};
  machine.chunk = sizes[random.integer(0, 8)];
  machine.balancing = pick({"none", "unsorted", "filters", "chunks"});
  machine.pair_scope = pick({"layer", "group"});
  machine.empty_join = pick({"cycle", "broadcast", "free"});
  machine.packing = pick({"aligned", "packed"});
  machine.dealing = pick({"blocks", "turns"});
  machine.hold_g = random.chance(0.5);
  machine.needed = random.chance(0.3);
  return machine;
}

Settings settings_of(const BruteMachine& machine) {
  return {{"units", std::to_string(machine.units)},
          {"cluster_units", std::to_string(machine.cluster_units)},
          {"chunk", std::to_string(machine.chunk)},
          {"balancing", machine.balancing},
          {"pair_scope", machine.pair_scope},
          {"empty_join", machine.empty_join},
          {"chunk_packing", machine.packing},
          {"dealing", machine.dealing},
          {"weight_grad_held", machine.hold_g ? "G" : "A"},
          {"outputs", machine.needed ? "needed" : "all"}};
}

// Every fourth layer has chunks that are full; the others every geometry.
testing::RandomLayerLimits limits(std::uint64_t seed) {
  return seed % 4 == 0 ? testing::RandomLayerLimits{160, 3, 1} : testing::RandomLayerLimits{24, 6, 2};
}

void check(std::uint64_t seed) {
  SCOPED_TRACE(seed);
  const Trace trace = testing::random_trace(seed, limits(seed));
  const Layer& layer = trace.layers()[0];
  SCOPED_TRACE(layer.shape.describe());
  Random random(seed ^ 0xab5eULL);
  const BruteMachine brute = random_machine(random);
  const auto machine = testing::sparten(settings_of(brute));
  for (const Operation op : kOperations) {
    SCOPED_TRACE(operation_name(op));
    const OpResult fast = machine->simulate(layer, op, {});
    // The functional engine compares its values with the reference convolution and throws if they differ.
    ASSERT_TRUE(machine->simulate(layer, op, {Engine::kFunctional, seed}) == fast);
    const BruteCounts expected = BruteForce(layer, brute).run(op);
    ASSERT_EQ(fast.cycles, expected.cycles);
    ASSERT_EQ(fast.effectual_macs, expected.matches);
    ASSERT_EQ(counter(fast, "joins"), expected.joins);
    ASSERT_EQ(counter(fast, "joins_left_out"), expected.left_out);
    ASSERT_EQ(counter(fast, "empty_joins"), expected.empty);
    ASSERT_EQ(counter(fast, "empty_join_cycles"), expected.empty_cycles);
    ASSERT_EQ(counter(fast, "barrier_cycles"), expected.barrier);
    ASSERT_EQ(counter(fast, "idle_unit_cycles"), expected.idle);
    // Bounds.
    const auto units = static_cast<std::int64_t>(brute.units);
    ASSERT_GE(fast.cycles * units, fast.effectual_macs);
    ASSERT_EQ(fast.cycles * units,
              fast.effectual_macs + expected.empty_cycles + expected.barrier + expected.idle);
    ASSERT_LE(fast.effectual_macs, fast.macs);
    for (const Counter& c : fast.counters) ASSERT_GE(c.value, 0) << c.name;
    for (const ActionCount& count : fast.actions) ASSERT_GE(count.count, 0) << count.action;
    ASSERT_GE(action(fast, "units", "mac", "cycle"), static_cast<double>(fast.effectual_macs));
  }
}

class Brute : public ::testing::TestWithParam<std::uint64_t> {};

// 3,000 layers in parts, which run in parallel.
TEST_P(Brute, EnginesEqualTheBruteForce) {
  for (std::uint64_t seed = GetParam(); seed < GetParam() + random_cases(500); ++seed) {
    check(seed);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Sparten, Brute, ::testing::Values(1, 501, 1001, 1501, 2001, 2501));

// The fast engine's two kernels on blocks of any bits.
TEST(SpartenKernel, VectorsEqualThePortableOne) {
  Random random(5);
  for (std::uint64_t i = 0; i < random_cases(500); ++i) {
    sparten::JoinBlock block{};
    block.words = random.integer(1, 4);
    block.chunks = random.integer(1, 5);
    block.pairs = random.integer(0, 9);
    block.singles = random.integer(0, 9);
    const auto words = [&](std::int64_t count, bool sparse) {
      std::vector<std::uint64_t> bits(static_cast<std::size_t>(count) + 1);
      for (std::uint64_t& word : bits)
        word = sparse ? random.bits() & random.bits() & random.bits() : random.bits();
      return bits;
    };
    const auto broadcast = words(block.chunks * block.words * sparten::JoinBlock::kStreams, i % 2 == 0);
    const auto held = words(block.chunks * (2 * block.pairs + block.singles) * block.words, i % 3 == 0);
    auto least = words(block.chunks * sparten::JoinBlock::kStreams, false);
    for (std::uint64_t& value : least) value &= 1;
    block.broadcast = broadcast.data();
    block.held = held.data();
    block.least = least.data();
    std::vector<std::uint16_t> needed(
        static_cast<std::size_t>(block.chunks * (2 * block.pairs + block.singles)) + 1);
    for (std::uint16_t& bits : needed) bits = static_cast<std::uint16_t>(random.bits());
    block.needed = i % 2 == 0 ? needed.data() : nullptr;
    block.needed_pitch = i % 4 == 0 ? 2 * block.pairs + block.singles : 0;
    sparten::JoinSums portable, fastest;
    sparten::count_joins_portable(block, portable);
    sparten::count_joins_kernel(block.words)(block, fastest);
    for (std::int64_t s = 0; s < sparten::JoinBlock::kStreams; ++s) {
      ASSERT_EQ(fastest.cycles[s], portable.cycles[s]);
      ASSERT_EQ(fastest.join_cycles[s], portable.join_cycles[s]);
      ASSERT_EQ(fastest.matches_or_one[s], portable.matches_or_one[s]);
    }
  }
}

TEST(Sparten, ResultsDoNotDependOnThreads) {
  const Trace trace = testing::random_trace(3, LayerShape::conv2d(2, 70, 90, {9, 9}, {3, 3}, {1, 1}, {1, 1}));
  for (const char* balancing : {"filters", "chunks"}) {
    const auto machine = testing::sparten({{"balancing", balancing}, {"units", "256"}});
    for (const Operation op : kOperations) {
      for (const Engine engine : {Engine::kFast, Engine::kFunctional}) {
        const OpResult one = machine->simulate(trace.layers()[0], op, {engine, 1});
        OpResult many;
        with_threads(3, [&] { many = machine->simulate(trace.layers()[0], op, {engine, 1}); });
        EXPECT_TRUE(many == one);
      }
    }
  }
}

TEST(Sparten, ValuesOfATraceEqualTheReference) {
  for (const LayerShape& shape : {LayerShape::conv2d(1, 3, 4, {23, 19}, {11, 9}, {4, 3}, {2, 1}),
                                  LayerShape::conv2d(2, 12, 8, {7, 9}, {3, 3}, {1, 2}, {1, 0}, {2, 1}, 4),
                                  LayerShape::linear(5, 300, 130)}) {
    const Trace trace = testing::random_trace(7, shape, SyntheticContent::kValues);
    for (const char* arithmetic : {"fp32", "bfloat16"}) {
      const auto machine = testing::sparten({{"arithmetic", arithmetic}});
      for (const Operation op : kOperations) {
        const OpResult fast = machine->simulate(trace.layers()[0], op, {});
        EXPECT_TRUE(machine->simulate(trace.layers()[0], op, {Engine::kFunctional, 1}) == fast);
      }
    }
  }
}

// Memory adds waiting and nothing else.
TEST(Sparten, ModelledMemoryOnlyAddsWaiting) {
  const auto ideal = testing::sparten({{"dram_mts", "200"}, {"sram_banks", "1"}, {"multicast", "1"}});
  const auto modelled = testing::sparten(
      {{"dram_mts", "200"}, {"sram_banks", "1"}, {"multicast", "1"}, {"memory", "modelled"}});
  int waited = 0;
  for (std::uint64_t seed = 1; seed <= random_cases(300); ++seed) {
    const Trace trace = testing::random_trace(seed, limits(seed));
    for (const Operation op : kOperations) {
      const OpResult a = ideal->simulate(trace.layers()[0], op, {});
      const OpResult b = modelled->simulate(trace.layers()[0], op, {});
      ASSERT_EQ(b.activity->compute_cycles, a.cycles);
      ASSERT_EQ(b.activity->samples, a.activity->samples);
      ASSERT_EQ(b.activity->weights, a.activity->weights);
      ASSERT_EQ(b.counters, a.counters);
      ASSERT_EQ(a.activity->bound, Bound::kCompute);
      ASSERT_EQ(b.cycles, std::max({a.cycles, b.activity->dram_cycles, b.activity->sram_cycles}));
      waited += b.cycles > a.cycles ? 1 : 0;
    }
  }
  EXPECT_GT(waited, 0);
}

}  // namespace
}  // namespace lacuna
