// Machines with outputs=needed, and the counts they go by, against loops over single pairs that share no code
// with src/sim.
#include "sim/workload/needed_outputs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "conformance/model_checks.hpp"
#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::testing {
namespace {

using Count = std::int64_t;

struct Position {
  Count n, y, x;
};

// A product of an input gradient: the positions of one phase of the stride, the channels of one convolution
// group.
struct Product {
  std::vector<Position> positions;
  Count group = 0;
  std::vector<std::pair<Count, Count>> taps;
};

std::vector<Product> products_of(const LayerShape& s) {
  std::vector<Product> products;
  const Count rows = s.n / s.sequence;  // of a time step
  for (Count group = 0; group < s.groups; ++group)
    for (Count py = 0; py < s.stride.h; ++py)
      for (Count px = 0; px < s.stride.w; ++px)
        for (Count step = 0; step < s.sequence; ++step) {
          Product product;
          product.group = group;
          for (Count ky = 0; ky < s.kernel.h; ++ky)
            for (Count kx = 0; kx < s.kernel.w; ++kx)
              if ((py + s.padding.h - ky * s.dilation.h) % s.stride.h == 0 &&
                  (px + s.padding.w - kx * s.dilation.w) % s.stride.w == 0)
                product.taps.emplace_back(ky, kx);
          for (Count n = step * rows; n < (step + 1) * rows; ++n)
            for (Count y = py; y < s.input.h; y += s.stride.h)
              for (Count x = px; x < s.input.w; x += s.stride.w) product.positions.push_back({n, y, x});
          if (!product.taps.empty() && !product.positions.empty()) products.push_back(std::move(product));
        }
  return products;
}

bool is_needed(const Layer& layer, const Position& at, Count channel) {
  const LayerShape& s = layer.shape;
  return layer.a.mask.bit((at.n * s.input.h + at.y) * s.input.w + at.x, channel);
}

MacCounts count_pairs(const Layer& layer) {
  const LayerShape& s = layer.shape;
  const Count cg = s.c / s.groups, kg = s.k / s.groups;
  MacCounts counts;
  for (const Product& product : products_of(s))
    for (const Position& at : product.positions)
      for (Count c = 0; c < cg; ++c) {
        if (!is_needed(layer, at, product.group * cg + c)) continue;
        for (const auto& [ky, kx] : product.taps) {
          const Count ty = at.y + s.padding.h - ky * s.dilation.h,
                      tx = at.x + s.padding.w - kx * s.dilation.w;
          const bool inside =
              ty >= 0 && tx >= 0 && ty / s.stride.h < s.output.h && tx / s.stride.w < s.output.w;
          for (Count k = product.group * kg; k < (product.group + 1) * kg; ++k) {
            const bool g =
                inside &&
                layer.g.mask.bit((at.n * s.output.h + ty / s.stride.h) * s.output.w + tx / s.stride.w, k);
            const bool w = layer.w.mask.bit((k * s.kernel.h + ky) * s.kernel.w + kx, c);
            counts.with_primary += g ? 1 : 0;
            counts.with_secondary += w ? 1 : 0;
            counts.effectual += g && w ? 1 : 0;
          }
        }
      }
  return counts;
}

template <typename Check>
void on_layers(std::uint64_t layers, const Check& check) {
  for (std::uint64_t seed = 1; seed <= layers; ++seed) {
    const Trace trace =
        seed % 4 == 0 ? random_products(seed) : random_trace(seed, RandomLayerLimits{80, 7, 2});
    SCOPED_TRACE(fmt::format("seed {} {}", seed, trace.layers()[0].shape.describe()));
    check(trace.layers()[0], seed);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(NeededOutputs, MacsAreThoseOfSinglePairs) {
  on_layers(random_cases(600), [](const Layer& layer, std::uint64_t) {
    const MacCounts all = count_macs(layer, Operation::kInputGrad);
    const MacCounts counted = count_needed_macs(layer, Operation::kInputGrad, all);
    const MacCounts pairs = count_pairs(layer);
    EXPECT_EQ(counted.with_primary, pairs.with_primary);
    EXPECT_EQ(counted.with_secondary, pairs.with_secondary);
    EXPECT_EQ(counted.effectual, pairs.effectual);
    EXPECT_EQ(counted.macs, all.macs);
    EXPECT_LE(counted.needed, all.macs);
    const MacCounts forward = count_macs(layer, Operation::kForward);
    EXPECT_EQ(count_needed_macs(layer, Operation::kForward, forward).effectual, forward.effectual);
  });
}

// One tile of 4 x 4 PEs: a pair of groups takes a cycle per step if any of its outputs is needed, whichever
// operand is on the rows.
TEST(NeededOutputs, DenseSkipsGroupsThatNobodyNeeds) {
  const auto machine = make_machine("dense", {{"tiles", "1"}, {"outputs", "needed"}});
  const auto all = make_machine("dense", {{"tiles", "1"}});
  int shorter = 0;
  on_layers(random_cases(600), [&](const Layer& layer, std::uint64_t seed) {
    const LayerShape& s = layer.shape;
    const Count cg = s.c / s.groups, kg = s.k / s.groups;
    Count cycles = 0, sums = 0;
    for (const Product& product : products_of(s)) {
      const Count steps = std::ssize(product.taps) * ((kg + 15) / 16),
                  positions = std::ssize(product.positions);
      for (Count p = 0; p < positions; p += 4)
        for (Count c = 0; c < cg; c += 4) {
          Count needed = 0;
          for (Count i = p; i < std::min(p + 4, positions); ++i)
            for (Count j = c; j < std::min(c + 4, cg); ++j)
              needed +=
                  is_needed(layer, product.positions[static_cast<std::size_t>(i)], product.group * cg + j)
                      ? 1
                      : 0;
          cycles += needed > 0 ? steps : 0;
          sums += needed * ((steps + 2) / 3);
        }
    }
    const OpResult result = machine->simulate(layer, Operation::kInputGrad);
    EXPECT_EQ(result.cycles, cycles);
    EXPECT_EQ(result.activity->psum_reads, sums);
    EXPECT_EQ(machine->simulate(layer, Operation::kInputGrad, {Engine::kFunctional, seed}), result);
    shorter += result.cycles < all->simulate(layer, Operation::kInputGrad).cycles ? 1 : 0;
    for (const Operation op : {Operation::kForward, Operation::kWeightGrad}) {
      EXPECT_EQ(machine->simulate(layer, op), all->simulate(layer, op));
    }
  });
  EXPECT_GT(shorter, static_cast<int>(random_cases(600)) / 10);
}

std::vector<std::string> models_with_outputs() {
  std::vector<std::string> names;
  for (const std::string& name : ArchCatalog().model_names())
    if (make_machine(name)->params().has("outputs")) names.push_back(name);
  return names;
}

class LeavesOutOutputs : public ::testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Accelerator> machine(const Settings& more = {}) {
    Settings settings{{"outputs", "needed"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return make_machine(GetParam(), settings);
  }
};

TEST_P(LeavesOutOutputs, KeepsTheLawsOfEveryModel) {
  const auto m = machine();
  EXPECT_EQ(check_engines_agree(*m, random_cases(400)), "");
  EXPECT_EQ(check_executes_values(*m, 100).wrong, "");
  EXPECT_EQ(check_counters(*m, random_cases(400)), "");
  EXPECT_EQ(check_engines_agree(*machine({{"memory", "modelled"}}), random_cases(100)), "");
}

// It never takes longer than with all outputs, and as long where none can be left out.
TEST_P(LeavesOutOutputs, NeverTakesLonger) {
  const auto m = machine(), all = make_machine(GetParam());
  int fewer_macs = 0;
  on_layers(random_cases(400), [&](const Layer& layer, std::uint64_t) {
    const OpResult needed = m->simulate(layer, Operation::kInputGrad);
    const OpResult whole = all->simulate(layer, Operation::kInputGrad);
    EXPECT_LE(needed.cycles, whole.cycles);
    EXPECT_LE(needed.effectual_macs, whole.effectual_macs);
    EXPECT_EQ(needed.macs, whole.macs);
    fewer_macs += needed.effectual_macs < whole.effectual_macs ? 1 : 0;
    if (layer.a.zeros() == 0) {
      EXPECT_EQ(needed, whole);
    }
  });
  EXPECT_GT(fewer_macs, static_cast<int>(random_cases(400)) / 2);
}

INSTANTIATE_TEST_SUITE_P(Models, LeavesOutOutputs, ::testing::ValuesIn(models_with_outputs()),
                         [](const ::testing::TestParamInfo<std::string>& model) { return model.param; });

}  // namespace
}  // namespace lacuna::testing
