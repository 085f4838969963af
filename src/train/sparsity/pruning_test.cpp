#include "train/sparsity/pruning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <initializer_list>
#include <limits>

#include "base/random.hpp"
#include "base/testing.hpp"
#include "base/text/choice.hpp"
#include "train/testing/tiny_run.hpp"

namespace lacuna::train {
namespace {

using Method = PruningOptions::Method;
using Alive = std::vector<std::uint8_t>;

// Three layers without a network: the first is never pruned.
struct ThreeLayers {
  ThreeLayers(const PruningOptions& options, std::int64_t size_a, std::int64_t size_b)
      : first("first.weight", Parameter::Kind::kWeights, {4}),
        bias("first.bias", Parameter::Kind::kBias, {4}),
        a("a.weight", Parameter::Kind::kWeights, {size_a}),
        b("b.weight", Parameter::Kind::kWeights, {size_b}),
        parameters{&first, &bias, &a, &b},
        made(make_sgd(parameters, {.momentum = 0.9, .weight_decay = 0}, 1)),
        pruning(optimizer, options) {
    for (Parameter* parameter : parameters)
      for (std::int64_t i = 0; i < parameter->value.size(); ++i) parameter->value[i] = 1;
    pruning.start();
  }
  // Puts one layer (0: a, 1: b) into a given state.
  void set(std::size_t layer, const Alive& alive, std::initializer_list<float> w,
           std::initializer_list<float> v) {
    Pruning::Layer& at = pruning.layers()[layer];
    at.alive = alive;
    at.count = std::count(alive.begin(), alive.end(), std::uint8_t{1});
    std::copy(w.begin(), w.end(), (layer == 0 ? a : b).value.data());
    std::copy(v.begin(), v.end(), optimizer.momenta()[layer + 2].data());
  }
  std::vector<float> weights(const Parameter& of) const {
    return {of.value.data(), of.value.data() + of.value.size()};
  }

  Parameter first, bias, a, b;
  std::vector<Parameter*> parameters;
  std::unique_ptr<Optimizer> made;
  Optimizer& optimizer = *made;
  Pruning pruning;
};

TEST(Pruning, StartsWithTheShareThatIsAsked) {
  for (const double zeros : {0.0, 0.3, 0.9, 0.999}) {
    ThreeLayers net({.method = Method::kSparseMomentum, .zeros = zeros}, 2000, 5000);
    const auto nonzeros = [&](const Parameter& p) {
      return p.value.size() - std::count(p.value.data(), p.value.data() + p.value.size(), 0.0F);
    };
    EXPECT_EQ(nonzeros(net.first), 4) << zeros;
    EXPECT_EQ(nonzeros(net.bias), 4) << zeros;
    EXPECT_EQ(nonzeros(net.a), std::llround(2000 * (1 - zeros))) << zeros;
    EXPECT_EQ(nonzeros(net.b), std::llround(5000 * (1 - zeros))) << zeros;
    EXPECT_NEAR(net.pruning.zero_share(), zeros, 1e-9);
    EXPECT_EQ(net.pruning.alive(), nonzeros(net.a) + nonzeros(net.b));
  }
}

// The sum of squares of a layer's weights is, but for the drawing, what it was: outputs keep their size.
TEST(Pruning, WhatIsLeftMakesUpForWhatIsNot) {
  for (const double zeros : {0.0, 0.5, 0.9, 0.99}) {
    const ThreeLayers net({.method = Method::kDynamicSparse, .zeros = zeros}, 2000, 5000);
    for (const Parameter* p : {&net.a, &net.b}) {
      double squares = 0;
      for (std::int64_t i = 0; i < p->value.size(); ++i) squares += std::pow(p->value[i], 2);
      EXPECT_NEAR(squares, static_cast<double>(p->value.size()), 1e-3 * squares) << zeros;
    }
    EXPECT_EQ(net.weights(net.first), (std::vector<float>{1, 1, 1, 1}));
  }
}

// A layer must let something through.
TEST(Pruning, MayLeaveWeightsAsTheyWereDrawn) {
  const ThreeLayers net({.method = Method::kSparseMomentum, .zeros = 0.9, .as_drawn = true}, 2000, 5000);
  for (const Parameter* p : {&net.a, &net.b})
    for (std::int64_t i = 0; i < p->value.size(); ++i)
      ASSERT_TRUE(p->value[i] == 0 || p->value[i] == 1) << p->value[i];
}

TEST(Pruning, KeepsOneWeightOfATinyLayer) {
  ThreeLayers net({.method = Method::kSparseMomentum, .zeros = 0.999}, 1, 3);
  EXPECT_EQ(net.pruning.layers()[0].count, 1);
  EXPECT_EQ(net.pruning.layers()[1].count, 1);
}

// Two drawings of a tenth of 5,000 share a tenth of a tenth, not nearly all: streams of neighbouring seeds
// must not be each other, moved by one number.
TEST(Pruning, OtherSeedsDrawOtherWeights) {
  const auto drawn = [](std::uint64_t seed) {
    return ThreeLayers({.method = Method::kSparseMomentum, .seed = seed}, 10, 5000).pruning.layers()[1].alive;
  };
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    const Alive one = drawn(seed);
    const Alive other = drawn(seed + 1);
    int both = 0;
    for (std::size_t i = 0; i < one.size(); ++i) both += one[i] & other[i];
    EXPECT_LT(both, 100) << seed;  // 50 by chance, with a deviation of 6.4
    EXPECT_EQ(one, drawn(seed));
  }
}

// Worked out on paper. Half of each layer moves: a gives up -0.1 and 0.2, b gives up -0.3. The momentum of
// what was alive has the means 1 and 3, so of the three places b gets 3 * 3/4 = 2 and a 3 * 1/4 = 0, and the
// one left over goes to the first layer with room. They grow where momentum is largest: -0.7 in a, 5 and -2
// in b.
TEST(SparseMomentum, MovesAsWorkedOutByHand) {
  ThreeLayers net({.method = Method::kSparseMomentum, .every = 1, .move = 0.5}, 6, 4);
  net.set(0, {1, 1, 1, 1, 0, 0}, {0.5F, -0.1F, 0.2F, -0.9F, 0, 0}, {1.5F, 0.2F, 0.3F, -2, 0.3F, -0.7F});
  net.set(1, {1, 1, 0, 0}, {0.4F, -0.3F, 0, 0}, {-5.9F, 0.1F, -2, 5});
  net.pruning.after_step(0);
  EXPECT_EQ(net.pruning.layers()[0].alive, (Alive{1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(net.pruning.layers()[1].alive, (Alive{1, 0, 1, 1}));
  EXPECT_EQ(net.pruning.layers()[0].count, 3);
  EXPECT_EQ(net.pruning.layers()[1].count, 3);
  EXPECT_EQ(net.weights(net.a), (std::vector<float>{0.5F, 0, 0, -0.9F, 0, 0}));
  EXPECT_EQ(net.weights(net.b), (std::vector<float>{0.4F, 0, 0, 0}));
  EXPECT_EQ(net.weights(net.first), (std::vector<float>{1, 1, 1, 1}));
  // A weight that has grown learns from its momentum on.
  EXPECT_EQ(net.optimizer.momenta()[3][3], 5);
}

// Four layers: 24 weights of `large` are given up. The first of the others asks for most and has room for
// two; the rest goes to the two after it by their momentum, one to three, and not to whichever comes first.
TEST(SparseMomentum, WhatAFullLayerCannotTakeIsSharedOut) {
  Parameter first("first.weight", Parameter::Kind::kWeights, {1});
  Parameter full("full.weight", Parameter::Kind::kWeights, {3});
  Parameter one("one.weight", Parameter::Kind::kWeights, {100});
  Parameter three("three.weight", Parameter::Kind::kWeights, {100});
  Parameter large("large.weight", Parameter::Kind::kWeights, {100});
  const std::vector<Parameter*> all = {&first, &full, &one, &three, &large};
  const auto made = make_sgd(all, {}, 1);
  Optimizer& optimizer = *made;
  Pruning pruning(optimizer, {.method = Method::kSparseMomentum, .every = 1, .move = 0.5});
  const std::array<std::int64_t, 4> alive = {1, 1, 1, 48};
  const std::array<float, 4> momentum = {1000, 1, 3, 0};
  for (std::size_t l = 0; l < 4; ++l) {
    Pruning::Layer& layer = pruning.layers()[l];
    std::fill(layer.alive.begin(), layer.alive.end(), std::uint8_t{0});
    std::fill_n(layer.alive.begin(), alive[l], std::uint8_t{1});
    layer.count = alive[l];
    optimizer.momenta()[l + 1][0] = momentum[l];
  }
  pruning.after_step(0);
  // 24 - 2 = 22: 5.5 and 16.5; what rounding leaves over goes to the first with room.
  EXPECT_EQ(pruning.layers()[0].count, 3);
  EXPECT_EQ(pruning.layers()[1].count, 1 + 5 + 1);
  EXPECT_EQ(pruning.layers()[2].count, 1 + 16);
  EXPECT_EQ(pruning.layers()[3].count, 24);
}

// Half way to `until` half of `move` is left, after it nothing moves.
TEST(SparseMomentum, MovesLessAndLessAndThenStops) {
  ThreeLayers net({.method = Method::kSparseMomentum, .zeros = 0.5, .every = 10, .until = 40, .move = 0.5},
                  16, 16);
  const auto moved = [&](std::int64_t step) {
    Alive alive(16, 0);
    std::fill_n(alive.begin(), 8, std::uint8_t{1});
    // The smaller the index, the smaller the weight; momentum is largest in the places that are free.
    net.set(0, alive, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9});
    net.set(1, alive, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9});
    net.pruning.after_step(step);
    EXPECT_EQ(net.pruning.alive(), 16);
    return std::count(net.pruning.layers()[0].alive.begin(), net.pruning.layers()[0].alive.begin() + 8,
                      std::uint8_t{0});
  };
  EXPECT_EQ(moved(8), 0);   // step 8 is the ninth
  EXPECT_EQ(moved(9), 3);   // 8 * 0.5 * (1 - 9/40) = 3.1
  EXPECT_EQ(moved(19), 2);  // 8 * 0.5 * (1 - 19/40) = 2.1
  EXPECT_EQ(moved(39), 0);
  EXPECT_EQ(moved(49), 0);
}

// [Mostafa and Wang 2019, Algorithm 1]: a tenth more or less than wanted is near enough. Ten weights are
// alive and a fifth should move: two.
TEST(DynamicSparse, TheThresholdFollowsTheNumberWanted) {
  for (const auto& [below, factor] : {std::pair{0, 2.0}, {1, 2.0}, {2, 1.0}, {3, 0.5}, {6, 0.5}}) {
    ThreeLayers net({.method = Method::kDynamicSparse, .every = 1, .move = 0.2}, 12, 8);
    net.pruning.threshold() = 0.5;
    Alive alive(12, 0);
    std::fill_n(alive.begin(), 7, std::uint8_t{1});
    std::vector<float> w(12, 0.0F);
    for (int i = 0; i < 7; ++i) w[static_cast<std::size_t>(i)] = i < below ? -0.4F : 0.5F;
    net.set(0, alive, {}, {});
    std::copy(w.begin(), w.end(), net.a.value.data());
    net.set(1, {1, 1, 1, 0, 0, 0, 0, 0}, {-1, 1, 1, 0, 0, 0, 0, 0}, {});
    net.pruning.after_step(0);
    EXPECT_EQ(net.pruning.threshold(), 0.5 * factor) << below;
    EXPECT_EQ(net.pruning.alive(), 10) << below;
    // The weights that stayed are those not below the threshold, and nothing else has a value.
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_EQ(net.a.value[static_cast<std::int64_t>(i)], w[i] == 0.5F ? 0.5F : 0.0F) << below << " " << i;
    // As many grow as were given up, by the number each layer has kept: the first of 6 goes to a if it kept
    // more.
    const std::int64_t grown_b = net.pruning.layers()[1].count - 3;
    const std::int64_t kept_a = 7 - below;
    EXPECT_GE(grown_b, below * 3 / (kept_a + 3)) << below;
    EXPECT_LE(grown_b, below * 3 / (kept_a + 3) + 1) << below;
  }
}

// A weight that has grown starts with no momentum of what was there before.
TEST(DynamicSparse, WhatGrowsStartsFromNothing) {
  ThreeLayers net({.method = Method::kDynamicSparse, .every = 1}, 4, 4);
  net.pruning.threshold() = 0.5;
  net.set(0, {1, 1, 0, 0}, {0.1F, 1, 0, 0}, {7, 7, 7, 7});
  net.set(1, {1, 1, 0, 0}, {1, 1, 0, 0}, {7, 7, 7, 7});
  net.pruning.after_step(0);
  EXPECT_EQ(net.pruning.alive(), 4);
  const auto& layers = net.pruning.layers();
  int grown = 0;
  for (std::size_t l = 0; l < 2; ++l)
    for (std::size_t i = 0; i < 4; ++i) {
      const bool kept = i == 1 || (l == 1 && i == 0);
      if (layers[l].alive[i] == 0 || kept) continue;
      ++grown;
      EXPECT_EQ(net.optimizer.momenta()[l + 2][static_cast<std::int64_t>(i)], 0);
    }
  EXPECT_EQ(grown, 1);
}

// Where nothing can be given up the threshold would double for ever, and a checkpoint could not hold it.
TEST(DynamicSparse, TheThresholdStaysANumber) {
  ThreeLayers stuck({.method = Method::kDynamicSparse, .zeros = 0.999, .every = 1}, 5, 5);
  for (std::int64_t step = 0; step < 3000; ++step) stuck.pruning.after_step(step);
  EXPECT_TRUE(std::isfinite(stuck.pruning.threshold()));
  // All at zero: everything is given up again and again, and the threshold halves for ever.
  ThreeLayers zero({.method = Method::kDynamicSparse, .zeros = 0.5, .every = 1}, 50, 50);
  for (std::int64_t step = 0; step < 3000; ++step) {
    for (Parameter* p : {&zero.a, &zero.b}) std::fill_n(p->value.data(), p->value.size(), 0.0F);
    zero.pruning.after_step(step);
  }
  EXPECT_GT(zero.pruning.threshold(), 0);
  EXPECT_EQ(zero.pruning.alive(), 50);
}

// The places that grow at one change are not those of the change before, moved by a few.
TEST(DynamicSparse, EachChangeDrawsAnew) {
  ThreeLayers net({.method = Method::kDynamicSparse, .zeros = 0.9, .every = 100, .move = 1}, 20000, 10);
  net.pruning.threshold() = 1e9;  // everything is dropped
  std::vector<Alive> grown;
  for (const std::int64_t step : {99, 199, 299}) {
    net.pruning.after_step(step);
    net.pruning.threshold() = 1e9;
    grown.push_back(net.pruning.layers()[0].alive);
  }
  for (std::size_t g = 1; g < grown.size(); ++g) {
    int both = 0;
    for (std::size_t i = 0; i < grown[g].size(); ++i) both += grown[g][i] & grown[g - 1][i];
    EXPECT_LT(both, 300) << g;  // 200 by chance, with a deviation of 13
  }
}

// Every option at its ends, with random weights and momenta: the number of weights never changes, what is
// dead is zero, and the same seed does the same.
TEST(Pruning, TheNumberOfWeightsNeverChanges) {
  for (const Method method : {Method::kSparseMomentum, Method::kDynamicSparse})
    for (const double zeros : {0.0, 0.5, 0.999})
      for (const double move : {0.0, 0.2, 1.0})
        for (const std::int64_t size : {1, 2, 7, 300}) {
          const PruningOptions options{.method = method, .zeros = zeros, .every = 1, .move = move, .seed = 9};
          std::vector<Alive> ends;
          for (int again = 0; again < 2; ++again) {
            ThreeLayers net(options, size, 40);
            const std::int64_t alive = net.pruning.alive();
            Random random(17);
            for (std::int64_t step = 0; step < 30; ++step) {
              for (Parameter* changed : net.parameters)
                for (std::int64_t i = 0; i < changed->value.size(); ++i)
                  changed->grad[i] = static_cast<float>(random.uniform() - 0.5);
              net.optimizer.step(0.01, 0);
              net.pruning.after_step(step);
              ASSERT_EQ(net.pruning.alive(), alive) << zeros << " " << move << " " << size << " " << step;
              for (std::size_t l = 0; l < 2; ++l) {
                const Pruning::Layer& layer = net.pruning.layers()[l];
                ASSERT_GE(layer.count, 1);
                ASSERT_EQ(layer.count, std::count(layer.alive.begin(), layer.alive.end(), std::uint8_t{1}));
                const Parameter& p = l == 0 ? net.a : net.b;
                for (std::size_t i = 0; i < layer.alive.size(); ++i) {
                  if (layer.alive[i] != 0) continue;
                  ASSERT_EQ(p.value[static_cast<std::int64_t>(i)], 0.0F);
                }
              }
            }
            ends.push_back(net.pruning.layers()[0].alive);
          }
          EXPECT_EQ(ends[0], ends[1]);
        }
}

// NaN weights cannot be sorted.
TEST(Pruning, LostTrainingsEndWithAMessage) {
  for (const Method method : {Method::kSparseMomentum, Method::kDynamicSparse})
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      ThreeLayers net({.method = method, .zeros = 0.5, .every = 2}, 40, 40);
      net.optimizer.momenta()[2][7] = bad;
      EXPECT_EQ(error_of([&] { net.pruning.after_step(0); }), "no error");
      EXPECT_NE(error_of([&] { net.pruning.after_step(1); }).find("'a.weight' or its momentum has become"),
                std::string::npos);
    }
}

TEST(Pruning, Names) {
  const auto parse_pruning = [](const char* name) {
    return parse_choice<Method>("--prune", name, kPruningMethods);
  };
  EXPECT_EQ(parse_pruning("sm"), Method::kSparseMomentum);
  EXPECT_EQ(parse_pruning("ds"), Method::kDynamicSparse);
  EXPECT_EQ(parse_pruning("none"), Method::kNone);
  EXPECT_NE(error_of([&] { parse_pruning("dss"); }).find("did you mean 'ds'?"), std::string::npos);
}

// Seven layers without batch norm. With weights drawn for dense layers the signal is lost on its way, and the
// loss stays at ln 10.
TEST(Pruning, LearnsWithATenthOfTheWeights) {
  for (const Method method : {Method::kSparseMomentum, Method::kDynamicSparse}) {
    TinyOptions options;
    options.model =
        "model: deep\nlayers:\n  - conv: {out: 32, kernel: 3, padding: 1}\n  - relu\n"
        "  - repeat: {times: 5, layers: [conv: {out: 32, kernel: 3, padding: 1}, relu]}\n"
        "  - linear: {out: $classes}\n";
    options.batch = 16;
    options.train_size = 64;
    options.train.steps = 160;
    options.train.pruning = {.method = method, .zeros = 0.9, .every = 20, .until = 120};
    TinyRun run(options);
    run.run_to(options.train.steps);
    EXPECT_LT(run.trainer.test(*run.data.train).loss, 1.5);
  }
}

// In a training: after every step the pruned weights are zero and their number is unchanged, and the first
// layer is dense.
TEST(Pruning, HoldsInATraining) {
  for (const Method method : {Method::kSparseMomentum, Method::kDynamicSparse})
    for (const std::int64_t every : {1, 3}) {
      TinyOptions options;
      options.model = kRichModel;
      options.train.pruning = {.method = method, .zeros = 0.8, .every = every, .until = 9};
      TinyRun run(options);
      const Pruning& pruning = *run.trainer.pruning();
      const std::int64_t alive = pruning.alive();
      std::vector<std::vector<Alive>> masks;
      while (!run.trainer.done()) {
        run.trainer.run_step();
        EXPECT_EQ(pruning.alive(), alive);
        EXPECT_NEAR(pruning.zero_share(), 0.8, 0.01);
        std::int64_t nonzeros = 0;
        masks.emplace_back();
        for (const Pruning::Layer& layer : pruning.layers()) masks.back().push_back(layer.alive);
        for (const Parameter* p : run.network.parameters()) {
          if (p->kind != Parameter::Kind::kWeights) continue;
          for (std::int64_t i = 0; i < p->value.size(); ++i) {
            if (p->name == "a.weight") {
              EXPECT_NE(p->value[i], 0.0F);
            } else {
              nonzeros += p->value[i] != 0 ? 1 : 0;
            }
          }
        }
        EXPECT_LE(nonzeros, alive);  // what has just grown is zero still
        EXPECT_GT(nonzeros, alive / 2);
      }
      EXPECT_NE(masks.front(), masks.back());  // they do move
      EXPECT_EQ(masks[10], masks[11]);         // and not after `until`
    }
}

}  // namespace
}  // namespace lacuna::train
