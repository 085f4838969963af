// AM, BM and CM with a size (A32): hand-made cases, a second implementation from the rules, and what must
// hold.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>

#include "base/error.hpp"
#include "base/random.hpp"
#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"
#include "sim/tile/tile_chip.hpp"

namespace lacuna::testing {
namespace {

constexpr PerOperation<bool> kAllOperations{true, true, true};

std::string number(std::int64_t value) { return std::to_string(value); }

Params params_of(const Settings& settings) {
  Params params("test", TileChip::params());
  for (const auto& [key, value] : settings) params.set(key, value, "test");
  return params;
}

// One tile, so that a KB is a KB.
Settings sizes(std::int64_t am, std::int64_t bm, std::int64_t cm, const std::string& samples = "batch") {
  return {{"tiles", "1"},
          {"am_kb", number(am)},
          {"bm_kb", number(bm)},
          {"cm_kb", number(cm)},
          {"samples_at_once", samples},
          {"memory", "modelled"},
          {"dram_compression", "off"}};
}

// Layers that follow one another, some of which hand their output on.
Trace random_network(std::uint64_t seed) {
  Random random(seed);
  SyntheticSpec spec;
  spec.seed = seed;
  std::int64_t channels = random.integer(1, 24);
  const std::int64_t samples = random.integer(1, 4), side = random.integer(1, 6);
  spec.batch = samples * random.integer(1, 3);
  for (std::int64_t i = 0, layers = random.integer(1, 5); i < layers; ++i) {
    const std::int64_t out = random.integer(1, 40);
    if (random.chance(0.2)) channels = random.integer(1, 24);
    spec.layers.push_back({fmt::format("layer{}", i),
                           LayerShape::conv2d(samples, channels, out, {side, side}, {3, 3}, {1, 1}, {1, 1}),
                           1, ZeroSpec::uniform(0.5), ZeroSpec::uniform(0.3), ZeroSpec::uniform(0.6)});
    channels = out;
  }
  return make_synthetic(spec);
}

// --- the rules once more, use by use ---

struct Use {
  std::string tensor;
  std::int64_t bytes;
  int memory;  // 0: AM, 1: BM, 2: CM
};

struct BruteStep {
  std::size_t layer;
  Operation op;
  Operand rows;
  std::vector<Use> uses;  // row operand, column operand, result
};

bool is_once(const std::string& tensor) { return tensor[0] == 'W' || tensor[0] == 'D'; }

// Two parts of the batch in a row; the second one is like all that follow it.
std::vector<BruteStep> two_parts(const Trace& trace, const TilePlan& plan, std::int64_t parts) {
  const auto& layers = trace.layers();
  const auto follows = [&](std::size_t i) {
    return i > 0 && static_cast<double>(layers[i - 1].g.elements()) * trace.batch_scale(layers[i - 1]) ==
                        static_cast<double>(layers[i].a.elements()) * trace.batch_scale(layers[i]);
  };
  std::vector<BruteStep> steps;
  for (int part = 0; part < 2; ++part) {
    // Names: what layer i takes (A), its weights (W), its result (O, which is A of the next), gradients
    // likewise.
    const auto name = [&](char kind, std::size_t i) {
      std::string text = fmt::format("{}{}", kind, i);
      if (kind == 'A' && follows(i)) text = fmt::format("O{}", i - 1);
      if (kind == 'I') text = follows(i) ? fmt::format("G{}", i - 1) : fmt::format("I{}", i);
      if (!is_once(text)) text += part == 0 ? "first" : "second";
      return text;
    };
    const auto bytes = [&](std::int64_t elements, std::size_t i, bool once) {
      const double all = static_cast<double>(elements * 4) * (once ? 1 : trace.batch_scale(layers[i]));
      return static_cast<std::int64_t>(std::ceil(std::ceil(all) / static_cast<double>(once ? 1 : parts)));
    };
    const auto add = [&](std::size_t i, Operation op) {
      if (!has_operation(i, op)) return;
      const Layer& layer = layers[i];
      const auto use = [&](Operand role, int memory) {
        const char kind = role == Operand::kA ? 'A' : role == Operand::kW ? 'W' : 'G';
        return Use{name(kind, i), bytes(layer.tensor(role).elements(), i, role == Operand::kW), memory};
      };
      const Operand rows = row_operand(layer, op, plan);
      const auto [primary, secondary] = operands(op);
      BruteStep step{i, op, rows, {use(rows, 1), use(rows == primary ? secondary : primary, 0)}};
      if (op == Operation::kForward)
        step.uses.push_back({name('O', i), bytes(layer.g.elements(), i, false), 2});
      if (op == Operation::kInputGrad)
        step.uses.push_back({name('I', i), bytes(layer.a.elements(), i, false), 2});
      if (op == Operation::kWeightGrad)
        step.uses.push_back({name('D', i), bytes(layer.w.elements(), i, true), 2});
      steps.push_back(step);
    };
    for (std::size_t i = 0; i < layers.size(); ++i) add(i, Operation::kForward);
    for (std::size_t i = layers.size(); i-- > 0;) {
      add(i, Operation::kInputGrad);
      add(i, Operation::kWeightGrad);
    }
  }
  return steps;
}

// Returns true if a use finds its tensor on the chip: it was used before, and that memory could hold it and
// all that came into it since, this step included.
bool found_on_chip(const std::vector<BruteStep>& steps, std::size_t at, const Use& use,
                   const std::array<std::int64_t, 3>& capacity, std::size_t& used_at) {
  for (std::size_t s = at; s-- > 0;) {
    for (auto earlier = steps[s].uses.rbegin(); earlier != steps[s].uses.rend(); ++earlier) {
      if (earlier->tensor != use.tensor) continue;
      std::int64_t held = use.bytes;
      for (std::size_t t = s + 1; t <= at; ++t)
        for (const Use& other : steps[t].uses)
          if (other.memory == earlier->memory && other.tensor != use.tensor) held += other.bytes;
      used_at = s;
      return held <= capacity[static_cast<std::size_t>(earlier->memory)];
    }
  }
  return false;
}

// Blocks of the stationary tensor, one after another.
std::int64_t blocks(std::int64_t bytes, std::int64_t capacity) {
  std::int64_t count = 0;
  for (std::int64_t left = bytes; left > 0; left -= capacity) ++count;
  return std::max<std::int64_t>(1, count);
}

std::pair<std::int64_t, std::int64_t> cheapest(const BruteStep& step, bool rows_free, bool columns_free,
                                               const std::array<std::int64_t, 3>& capacity) {
  const std::int64_t rows = step.uses[0].bytes, columns = step.uses[1].bytes;
  std::vector<std::pair<std::int64_t, std::int64_t>> ways{{1, blocks(rows, capacity[1])},
                                                          {blocks(columns, capacity[0]), 1}};
  const std::int64_t all = blocks(step.uses[2].bytes, capacity[2]);
  for (std::int64_t a = 1; a <= all; ++a)
    for (std::int64_t b = 1; b <= all; ++b)
      if (a * b >= all) ways.emplace_back(b, a);
  return *std::ranges::min_element(ways, {}, [&](const auto& way) {
    return (rows_free ? 0 : way.first * rows) + (columns_free ? 0 : way.second * columns);
  });
}

void check_plan(const Trace& trace, const Settings& settings, std::int64_t parts) {
  const Params params = params_of(settings);
  const TileChip chip(params);
  const auto kb = [&](const char* key) { return params.integer(key) * 1024; };
  const std::array<std::int64_t, 3> capacity{kb("am_kb"), kb("bm_kb"), kb("cm_kb")};
  const auto plan =
      chip.memory().sized().plan_parts(trace, kAllOperations, chip.plan(), chip.memory().dram(), parts);
  const std::vector<BruteStep> steps = two_parts(trace, chip.plan(), parts);
  const std::size_t half = steps.size() / 2;
  std::int64_t bus = 0;
  for (std::size_t s = 0; s < half; ++s) {
    const BruteStep& step = steps[s];
    SCOPED_TRACE(fmt::format("layer {} {} parts {}", step.layer, operation_name(step.op), parts));
    std::int64_t expected[2] = {0, 0};
    bool on_chip[2], from_part_before[2] = {false, false};
    for (int i = 0; i < 2; ++i) {
      std::size_t used_at = 0;
      on_chip[i] = found_on_chip(steps, s, step.uses[static_cast<std::size_t>(i)], capacity, used_at);
      if (!on_chip[i] && parts > 1 && is_once(step.uses[static_cast<std::size_t>(i)].tensor)) {
        // In the parts that follow: what the part before left, if this part has not used it yet.
        bool earlier = false;
        for (std::size_t t = 0; t < s; ++t)
          for (const Use& use : steps[t].uses)
            earlier |= use.tensor == step.uses[static_cast<std::size_t>(i)].tensor;
        from_part_before[i] =
            !earlier && found_on_chip(steps, half + s, steps[half + s].uses[static_cast<std::size_t>(i)],
                                      capacity, used_at);
      }
    }
    const auto [rows, columns] =
        cheapest(step, on_chip[0] || from_part_before[0], on_chip[1] || from_part_before[1], capacity);
    const std::int64_t per_part[2] = {rows, columns};
    for (int i = 0; i < 2; ++i) {
      const bool once = is_once(step.uses[static_cast<std::size_t>(i)].tensor);
      expected[i] = on_chip[i] ? 0 : from_part_before[i] ? 1 : per_part[i] * (once ? parts : 1);
      bus += expected[i] * step.uses[static_cast<std::size_t>(i)].bytes * (once ? 1 : parts);
    }
    const TensorPasses& found = plan.passes[step.layer][step.op];
    const bool primary_on_rows = step.rows == operands(step.op).primary;
    // Ways that cost the same may differ in their passes.
    const auto cost = [&](std::int64_t r, std::int64_t c) {
      return r * step.uses[0].bytes * (is_once(step.uses[0].tensor) ? 1 : parts) +
             c * step.uses[1].bytes * (is_once(step.uses[1].tensor) ? 1 : parts);
    };
    EXPECT_EQ(primary_on_rows ? cost(found.primary, found.secondary) : cost(found.secondary, found.primary),
              cost(expected[0], expected[1]));
    // A result is written unless each later use finds it.
    bool written = true;
    if (step.op != Operation::kWeightGrad) {
      bool again = false, missed = false;
      for (std::size_t t = s + 1; t < half; ++t)
        for (std::size_t i = 0; i < 2; ++i) {
          std::size_t used_at = 0;
          if (steps[t].uses[i].tensor != step.uses[2].tensor) continue;
          again = true;
          missed |= !found_on_chip(steps, t, steps[t].uses[i], capacity, used_at);
        }
      written = !again || missed;
      EXPECT_EQ(found.output_writes, written ? 1 : 0);
      EXPECT_EQ(found.output_reads, 0);
      bus += (written ? 1 : 0) * step.uses[2].bytes * parts;
    } else {
      std::size_t used_at = 0;
      const bool stays =
          parts == 1 || found_on_chip(steps, half + s, steps[half + s].uses[2], capacity, used_at);
      EXPECT_EQ(found.output_writes, stays ? 1 : parts);
      EXPECT_EQ(found.output_reads, stays ? 0 : parts - 1);
      bus += (found.output_writes + found.output_reads) * step.uses[2].bytes;
    }
  }
  EXPECT_EQ(plan.bus_bytes, bus);
}

TEST(SizedMemory, PlanEqualsTheRulesUseByUse) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed + 1000);
    const Trace trace = random_network(seed);
    const auto kb = [&] { return std::int64_t{1} << random.integer(0, 6); };
    for (const std::int64_t parts : {std::int64_t{1}, trace.batch()}) {
      ASSERT_NO_FATAL_FAILURE(check_plan(trace, sizes(kb(), kb(), kb()), parts));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

struct Moved {
  double bytes = 0, cycles = 0, joules_actions = 0;
  std::vector<double> ops;
};

Moved run(const Trace& trace, const std::string& arch, const Settings& settings,
          Engine engine = Engine::kFast) {
  const auto machine = make_machine(arch, settings);
  const RunResult result =
      simulate_trace(trace, *machine, arch, {.engine = engine, .without_zeros = false}, 1);
  Moved moved;
  for (const LayerResult& layer : result.layers) {
    for (const OpResult& op : layer.ops) {
      double bytes = 0;
      for (const ActionCount& action : op.actions)
        if (action.action == "bit") bytes += action.count / 8;
      moved.bytes += bytes;
      moved.ops.push_back(bytes);
      moved.cycles += static_cast<double>(op.cycles) * layer.batch_scale;
    }
  }
  return moved;
}

// More memory never moves more and is never slower, operation by operation; no memory moves less than what
// must come in and go out.
TEST(SizedMemory, MoreMemoryIsNeverSlower) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = random_network(seed);
    // Images and weights come in once, gradients of weights go out.
    double compulsory =
        static_cast<double>(trace.layers()[0].a.elements() * 4) * trace.batch_scale(trace.layers()[0]);
    for (const Layer& layer : trace.layers()) compulsory += static_cast<double>(2 * layer.w.elements() * 4);
    for (const char* arch : {"dense", "tensordash"}) {
      const Moved unlimited =
          run(trace, arch, {{"tiles", "1"}, {"memory", "modelled"}, {"dram_compression", "off"}});
      for (const std::string samples : {"batch", "1", "auto"}) {
        Moved before;
        for (std::int64_t kb = 1; kb <= 1024; kb *= 4) {
          const Moved now = run(trace, arch, sizes(kb, kb, kb, samples));
          EXPECT_GE(now.bytes, compulsory);
          if (kb > 1) {
            EXPECT_LE(now.bytes, before.bytes) << samples << " " << kb;
            if (samples != "auto") {
              EXPECT_LE(now.cycles, before.cycles) << samples << " " << kb;
              for (std::size_t i = 0; i < now.ops.size(); ++i) EXPECT_LE(now.ops[i], before.ops[i]);
            }
          }
          before = now;
        }
        // With room for everything, nothing crosses twice.
        EXPECT_LE(before.bytes, unlimited.bytes);
      }
    }
  }
}

TEST(SizedMemory, EnginesAgree) {
  const Trace trace = random_network(7);
  for (const char* arch : {"dense", "tensordash", "cnvlutin", "structured-2of4"}) {
    for (const std::int64_t kb : {1, 8, 64}) {
      const auto machine = make_machine(arch, sizes(kb, kb, kb, "1"));
      const auto result = [&](Engine engine) {
        return simulate_trace(trace, *machine, arch, {.engine = engine, .without_zeros = false}, 1);
      };
      const RunResult fast = result(Engine::kFast), functional = result(Engine::kFunctional);
      for (std::size_t i = 0; i < fast.layers.size(); ++i)
        EXPECT_EQ(fast.layers[i].ops, functional.layers[i].ops) << arch;
    }
  }
}

// A linear layer of 64 samples, 256 inputs and 512 outputs: A 64 KB, W 512 KB, results 128 KB.
TEST(SizedMemory, CountsByHand) {
  const Trace trace = dense_trace(LayerShape::linear(64, 256, 512));
  const auto moved = [&](std::int64_t am, std::int64_t bm, std::int64_t cm, const std::string& order) {
    Settings settings = sizes(am, bm, cm);
    settings.emplace_back("loop_order", order);
    const OpResult result = make_machine("dense", settings)->simulate(trace.layers()[0], Operation::kForward);
    return std::pair{result.activity->samples.dram_read_bytes / 1024,
                     result.activity->weights.dram_read_bytes / 1024};
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  // A is on the rows (equal shares of zeros: the text's operand).
  EXPECT_EQ(moved(1, 16, 1, "rows"), Pair(64, 4 * 512));      // 4 blocks of A, W for each
  EXPECT_EQ(moved(128, 1, 1, "columns"), Pair(4 * 64, 512));  // 4 blocks of W, A for each
  EXPECT_EQ(moved(1, 1, 32, "outputs"), Pair(4 * 64, 512));   // 4 blocks of results, cut across W
  EXPECT_EQ(moved(128, 16, 32, "auto"), Pair(4 * 64, 512));   // the cheapest of them
  EXPECT_EQ(moved(1, 64, 1, "auto"), Pair(64, 512));          // A fits
  // Larger banks cost more per access, smaller ones less: 4 times the size, 4^0.685 the energy.
  const auto reads = [&](const Settings& settings) {
    const OpResult result = make_machine("dense", settings)->simulate(trace.layers()[0], Operation::kForward);
    for (const ActionCount& action : result.actions)
      if (action.component == "sram" && action.action == "read") return action.count;
    return 0.0;
  };
  const auto all = [](std::int64_t kb) {
    return Settings{{"am_kb", number(kb)}, {"bm_kb", number(kb)}, {"cm_kb", number(kb)}};
  };
  EXPECT_NEAR(reads(all(4096)) / reads({}), std::pow(4, 0.685), 1e-9);
  EXPECT_NEAR(reads(all(1024)) / reads({}), 1, 1e-12);
  const auto units = [](const Settings& settings) {
    const Hardware hardware = *make_machine("dense", settings)->hardware();
    for (const Component& component : hardware.components)
      if (component.name == "sram") return component.parts[0].units;
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(units(all(2048)), 2 * units({}));
  EXPECT_DOUBLE_EQ(units({{"am_kb", "4096"}}), 2 * units({}));
}

TEST(SizedMemory, RefusesWhatMakesNoSense) {
  EXPECT_THROW(make_machine("dense", {{"samples_at_once", "some"}}), InputError);
  EXPECT_THROW(make_machine("dense", {{"samples_at_once", "0"}}), InputError);
  EXPECT_THROW(make_machine("dense", {{"am_kb", "-1"}}), InputError);
  EXPECT_THROW(make_machine("dense", {{"loop_order", "inner"}}), InputError);
}

}  // namespace
}  // namespace lacuna::testing
