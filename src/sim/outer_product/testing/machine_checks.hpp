// Checks that every outer-product machine must pass, on whole layers through the registry.
#pragma once

#include <deque>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/testing.hpp"
#include "sim/outer_product/block_costs.hpp"
#include "sim/outer_product/machine.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/without_zeros.hpp"

namespace lacuna::testing {

inline OpResult simulate_one(const std::string& name, const Settings& settings, const Layer& layer,
                             Operation op, const SimOptions& options = {}) {
  return make_machine(name, settings)->simulate(layer, op, options);
}

// The laws of docs/models/scnn.md. `multipliers` and `n` as the machine was configured.
inline void check_laws(const OpResult& r, std::int64_t multipliers, std::int64_t n) {
  const auto get = [&](const char* name) { return counter(r, name); };
  const std::int64_t pes = multipliers / (n * n);
  // Counted only where RAMs have a size or drains are charged.
  std::int64_t waits = 0;
  for (const Counter& c : r.counters) {
    if (c.name == "broadcast_wait_cycles" || c.name == "drain_wait_cycles") waits += c.value;
  }
  // Products.
  EXPECT_EQ(get("useful_products"), r.effectual_macs);
  EXPECT_EQ(get("rcps"), get("cartesian_products") - get("useful_products"));
  EXPECT_EQ(get("executed_products"), get("useful_products") + get("rcps_residual"));
  EXPECT_EQ(get("cartesian_products"), get("executed_products") + get("rcps_anticipated"));
  EXPECT_EQ(get("rcps"), get("rcps_anticipated") + get("rcps_residual"));
  // Time, in PE-cycles, by cause.
  EXPECT_EQ(pes * r.cycles, get("steps") + get("bubbles") + get("conflict_stalls") + get("fill_cycles") +
                                get("imbalance_cycles") + get("idle_pe_cycles") + waits);
  // Multiplier slots, by cause.
  EXPECT_EQ(get("multiplier_slots"), multipliers * r.cycles);
  EXPECT_EQ(get("multiplier_slots"), get("executed_products") + get("idle_multiplier_slots"));
  EXPECT_EQ(get("idle_multiplier_slots"),
            get("fragmented_slots") + n * n *
                                          (get("bubbles") + get("conflict_stalls") + get("fill_cycles") +
                                           get("imbalance_cycles") + get("idle_pe_cycles") + waits));
  for (const Counter& c : r.counters) EXPECT_GE(c.value, 0) << c.name;
  EXPECT_GE(r.cycles * multipliers, r.effectual_macs);  // the ideal bound
  EXPECT_EQ(r.scheduled_macs, r.effectual_macs);
}

inline std::vector<Settings> varied_settings(const std::string& name) {
  std::vector<Settings> all{
      {},
      {{"mapping", "scnn-tiles"}},
      {{"mapping", "scnn-tiles"}, {"group_channels", "3"}, {"fill_scope", "pair"}},
      {{"conflicts", "on"}},
      {{"conflicts", "on"}, {"banks", "5"}, {"mapping", "scnn-tiles"}, {"linear", "channels"}},
      {{"linear", "channels"}, {"fill_scope", "pair"}},
      {{"mapping", "scnn-tiles"},
       {"group_channels", "2"},
       {"pe_memory", "sized"},
       {"iaram_values", "30"},
       {"fifo_entries", "2"},
       {"drains", "charged"}},
      {{"n", "2"}, {"multipliers", "256"}},
      {{"n", "8"}, {"multipliers", "4096"}},
      {{"arithmetic", "bfloat16"}},
  };
  if (name == "ant") all.push_back({{"empty_cost", "0"}, {"fill_scope", "pair"}});
  if (name != "scnn") return all;
  const Settings packed{{"mapping", "scnn-tiles"}, {"kernel_vectors", "group"}};
  for (const Settings& more : {Settings{},
                               {{"group_channels", "3"}, {"fill_scope", "pair"}},
                               {{"conflicts", "on"}, {"banks", "5"}, {"group_channels", "4"}},
                               {{"pe_memory", "sized"}, {"iaram_values", "30"}, {"drains", "charged"}}}) {
    all.push_back(packed);
    all.back().insert(all.back().end(), more.begin(), more.end());
  }
  return all;
}

// Both engines give the same OpResult, the laws hold, and the values equal the reference convolution (the
// functional engine throws if not).
inline void check_random_layers(const std::string& name, std::uint64_t first_seed, std::uint64_t seeds) {
  const std::vector<Settings> all = varied_settings(name);
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = random_trace(seed, RandomLayerLimits{10, 9, 2});
    for (const Operation op : kOperations) {
      const Settings& settings = all[(seed + static_cast<std::uint64_t>(op)) % all.size()];
      const std::unique_ptr<Accelerator> machine = make_machine(name, settings);
      const OpResult fast = machine->simulate(trace.layers()[0], op, {});
      const OpResult functional = machine->simulate(trace.layers()[0], op, {Engine::kFunctional, seed});
      ASSERT_TRUE(fast == functional) << operation_name(op);
      check_laws(fast, machine->params().integer("multipliers"), machine->params().integer("n"));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Gives each row of a mask without zeros bytes of its own.
using Bits = std::deque<std::vector<std::uint8_t>>;
inline void spell_out(MaskView& mask, Bits& storage) {
  if (!mask.no_zeros()) return;
  const std::int64_t row_bytes = mask.readable_bytes();
  std::vector<std::uint8_t>& bytes = storage.emplace_back();
  for (std::int64_t r = 0; r < mask.rows; ++r) bytes.insert(bytes.end(), mask.data, mask.data + row_bytes);
  mask.data = bytes.data();
  mask.row_bytes = row_bytes;
}

// Counting sets gives the counts and the time of every PE that pairs one by one give: random shapes, and the
// same without zeros, where masks say so and cycles follow from the shape.
template <typename MakePe>
void check_sets(const std::string& name, const MakePe& make_pe) {
  int counted = 0;
  std::vector<Settings> all = varied_settings(name);
  for (const char* multipliers : {"256", "768", "1280"}) all.push_back({{"multipliers", multipliers}});
  for (std::uint64_t seed = 1; seed <= random_cases(2000); ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = random_trace(seed, RandomLayerLimits{40, 12, 2});
    if (trace.layers()[0].shape.is_matrix()) continue;
    const Trace full = trace_without_zeros(trace);
    // Each operand without zeros in turn, both, or none.
    Layer layer = trace.layers()[0];
    if (seed % 2 == 0) layer.a = full.layers()[0].a;
    if (seed % 3 == 0) layer.w = full.layers()[0].w;
    if (seed % 4 < 2) layer.g = full.layers()[0].g;
    Bits storage;
    Layer bits = layer;  // for the reference, which is not told that there are no zeros
    for (LayerTensor* tensor : {&bits.a, &bits.w, &bits.g}) spell_out(tensor->mask, storage);
    const auto machine = make_machine(name, all[seed % all.size()]);
    const outer_product::MachineConfig config = outer_product::machine_config(machine->params());
    const auto pe = make_pe(config, machine->params());
    for (const Operation op : kOperations) {
      const auto schedule = [&](UnitRecord& units) {
        outer_product::Schedule made(config.pes(), config.fill, config.fill_each_pair);
        made.record(&units);
        return made;
      };
      UnitRecord units_of_pairs, units_of_sets;
      outer_product::Schedule of_pairs = schedule(units_of_pairs), of_sets = schedule(units_of_sets);
      const auto sets = outer_product::count_by_sets(OperationWork(layer, op), config, *pe, "", of_sets);
      if (!sets) continue;
      ++counted;
      ASSERT_EQ(*sets, outer_product::count_pair_by_pair(bits, op, config, *pe, of_pairs));
      ASSERT_EQ(of_sets.finish(), of_pairs.finish()) << operation_name(op);
      ASSERT_EQ(units_of_sets, units_of_pairs);
    }
  }
  EXPECT_GT(counted, static_cast<int>(random_cases(2000)));
}

// Floating-point values of a trace, and kernels of more than 64 taps.
inline void check_value_layers(const std::string& name) {
  for (const LayerShape& shape :
       {LayerShape::conv2d(1, 3, 4, {23, 19}, {11, 9}, {4, 3}, {2, 1}), LayerShape::linear(5, 70, 130)}) {
    const Trace trace = random_trace(7, shape, SyntheticContent::kValues);
    for (const Operation op : kOperations) {
      for (const Settings& settings : varied_settings(name)) {
        const OpResult fast = simulate_one(name, settings, trace.layers()[0], op);
        EXPECT_TRUE(fast == simulate_one(name, settings, trace.layers()[0], op, {Engine::kFunctional, 1}));
      }
    }
  }
}

inline void check_dense_baseline(const std::string& name) {
  const Trace trace = random_trace(11, LayerShape::conv2d(2, 48, 40, {14, 14}, {3, 3}, {2, 2}, {1, 1}));
  for (const Operation op : kOperations) {
    for (const std::int64_t tiles : {4, 16}) {
      const auto machine = make_machine(name, {{"multipliers", std::to_string(tiles * 256)}});
      const OpResult baseline = simulate_baseline(*machine, trace.layers()[0], op);
      const OpResult dense = simulate_one("dense", {{"tiles", std::to_string(tiles)}}, trace.layers()[0], op);
      EXPECT_EQ(baseline, dense);
    }
  }
}

inline void check_bad_configurations(const std::string& name) {
  EXPECT_THROW(make_machine(name, {{"multipliers", "1000"}}), InputError);
  EXPECT_THROW(make_machine(name, {{"n", "3"}}), InputError);
  EXPECT_NO_THROW(make_machine(name, {{"n", "3"}, {"multipliers", "2304"}}));
  EXPECT_THROW(make_machine(name, {{"mapping", "tiles"}}), InputError);
  EXPECT_THROW(make_machine(name, {{"bank", "32"}}), InputError);
}

}  // namespace lacuna::testing
