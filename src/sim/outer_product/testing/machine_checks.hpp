// Checks that every outer-product machine must pass, on whole layers through the registry.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

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
