// Feed-forward blocks and products of lists against sums in double precision.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/ffn/feed_forward.hpp"
#include "kernels/testing/reference_check.hpp"

namespace lacuna::kernels {
namespace {

using Floats = std::vector<float>;

struct Block {
  std::int64_t tokens, in, hidden, out;
  Activation activation = Activation::kRelu;
  float threshold = 0;
};

// Values and the sums of their magnitudes, which bound rounding errors.
struct Sums {
  std::vector<double> value, magnitude;
  explicit Sums(std::int64_t count)
      : value(static_cast<std::size_t>(count)), magnitude(static_cast<std::size_t>(count)) {}
  void add(std::int64_t at, double x, double y, double x_magnitude) {
    value[static_cast<std::size_t>(at)] += x * y;
    magnitude[static_cast<std::size_t>(at)] += x_magnitude * std::fabs(y);
  }
};

void expect_near(const Floats& got, const Sums& want, const char* what) {
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::fabs(got[i] - want.value[i]), 2 * kTolerance * want.magnitude[i] + 1e-30)
        << what << " element " << i << " got " << got[i] << " wants " << want.value[i];
}

class Tensors {
 public:
  Tensors(const Block& b, double zeros, std::uint64_t seed)
      : block(b),
        random(seed),
        hidden(draw(b.tokens * b.hidden)),
        down(draw(b.out * b.hidden)),
        bias(draw(b.out)),
        output_grad(draw(b.tokens * b.out)),
        input(draw(b.tokens * b.in)),
        up(draw(b.hidden * b.in)) {
    std::uniform_real_distribution<double> share;
    for (float& h : hidden) h = share(random) < zeros ? -std::fabs(h) : std::fabs(h) + b.threshold;
  }

  void check(const std::string& isa, int threads) {
    const Block& b = block;
    SCOPED_TRACE(isa + " " + std::to_string(b.tokens) + " x " + std::to_string(b.hidden));
    FeedForward plan({.in = b.in,
                      .hidden = b.hidden,
                      .out = b.out,
                      .activation = b.activation,
                      .threshold = b.threshold,
                      .threads = threads,
                      .isa = isa});
    FeedForwardPass pass;
    Floats output(size(b.tokens * b.out), kNan), input_grad(size(b.tokens * b.in), kNan);
    Floats up_grad(size(b.hidden * b.in), kNan), up_bias(size(b.hidden), kNan),
        down_grad(size(b.out * b.hidden), kNan);
    const FeedForwardGradients gradients{output_grad.data(), input.data(),   up.data(),
                                         input_grad.data(),  up_grad.data(), up_bias.data(),
                                         down_grad.data()};
    plan.forward(b.tokens, hidden.data(), down.data(), bias.data(), output.data(), pass);
    plan.backward(pass, gradients);
    const Floats first = up_grad;
    plan.backward(pass, gradients);
    EXPECT_EQ(up_grad, first);  // a pass may be used again

    Sums y(b.tokens * b.out), dx(b.tokens * b.in), dup(b.hidden * b.in), dbias(b.hidden),
        ddown(b.out * b.hidden);
    for (std::int64_t t = 0; t < b.tokens; ++t) {
      for (std::int64_t o = 0; o < b.out; ++o) y.add(t * b.out + o, 1, bias[size(o)], 1);
      for (std::int64_t f = 0; f < b.hidden; ++f) {
        const double h = hidden[size(t * b.hidden + f)];
        if (!(h > b.threshold)) continue;
        const bool squared = b.activation == Activation::kReluSquared;
        const double a = squared ? h * h : h, slope = squared ? 2 * h : 1;
        double grad = 0, magnitude = 0;
        for (std::int64_t o = 0; o < b.out; ++o) {
          const double w = down[size(o * b.hidden + f)], g = output_grad[size(t * b.out + o)];
          y.add(t * b.out + o, a, w, a);
          ddown.add(o * b.hidden + f, a, g, a);
          grad += slope * w * g;
          magnitude += slope * std::fabs(w * g);
        }
        dbias.add(f, grad, 1, magnitude);
        for (std::int64_t i = 0; i < b.in; ++i) {
          dx.add(t * b.in + i, grad, up[size(f * b.in + i)], magnitude);
          dup.add(f * b.in + i, grad, input[size(t * b.in + i)], magnitude);
        }
      }
    }
    expect_near(output, y, "output");
    expect_near(input_grad, dx, "input_grad");
    expect_near(up_grad, dup, "up_grad");
    expect_near(up_bias, dbias, "up_bias_grad");
    expect_near(down_grad, ddown, "down_grad");
  }

  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  Floats draw(std::int64_t count) {
    std::normal_distribution<float> normal;
    Floats values(size(count));
    for (float& value : values) value = normal(random);
    return values;
  }

  Block block;
  std::mt19937_64 random;
  Floats hidden, down, bias, output_grad, input, up;
};

class FeedForwardOn : public EachInstructionSet {};

TEST_P(FeedForwardOn, MatchesReference) {
  const Block blocks[] = {{1, 1, 1, 1},
                          {3, 5, 7, 2, Activation::kReluSquared},
                          {96, 64, 96, 64, Activation::kReluSquared},
                          {97, 65, 193, 66, Activation::kThresholded, 0.5F},
                          {200, 130, 95, 31, Activation::kReluSquared},
                          {33, 48, 300, 129}};
  std::uint64_t seed = 1;
  for (const Block& block : blocks)
    for (const double zeros : {0.0, 0.3, 0.9, 0.99, 1.0}) {
      ++seed;
      Tensors(block, zeros, seed).check(GetParam(), static_cast<int>(seed % 3) + 1);
      if (HasFatalFailure()) return;
    }
}

TEST_P(FeedForwardOn, IsTheSameForAnyNumberOfThreads) {
  Tensors t({300, 70, 200, 70, Activation::kReluSquared}, 0.8, 7);
  Floats first;
  for (const int threads : {1, 2, 5}) {
    FeedForward plan({.in = 70,
                      .hidden = 200,
                      .out = 70,
                      .activation = Activation::kReluSquared,
                      .threads = threads,
                      .isa = GetParam()});
    FeedForwardPass pass;
    Floats output(300 * 70), up_grad(200 * 70);
    plan.forward(300, t.hidden.data(), t.down.data(), nullptr, output.data(), pass);
    plan.backward(pass,
                  {.output_grad = t.output_grad.data(), .input = t.input.data(), .up_grad = up_grad.data()});
    output.insert(output.end(), up_grad.begin(), up_grad.end());
    if (first.empty()) first = output;
    EXPECT_EQ(output, first) << threads;
  }
}

// NaN stays NaN, and what is skipped does not meet infinities of the other operand.
TEST_P(FeedForwardOn, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = Tensors::kNan;
  FeedForward plan({.in = 1, .hidden = 3, .out = 1, .isa = GetParam()});
  FeedForwardPass pass;
  Floats output(2);
  const Floats down{inf, 2, 3};
  plan.forward(2, Floats{-1, 1, 0, 0, nan, 1}.data(), down.data(), nullptr, output.data(), pass);
  EXPECT_EQ(output[0], 2);
  EXPECT_TRUE(std::isnan(output[1]));
}

INSTANTIATE_TEST_SUITE_P(Kernels, FeedForwardOn, testing::Values("avx512", "avx2", "portable"),
                         [](const auto& isa) { return isa.param; });

TEST(FeedForward, RefusesBadInput) {
  EXPECT_THROW(FeedForward({.in = 0, .hidden = 1, .out = 1}), InputError);
  EXPECT_THROW(FeedForward({.in = 1, .hidden = std::int64_t{1} << 40, .out = 1}), InputError);
  EXPECT_THROW(FeedForward({.in = 1, .hidden = 1, .out = 1, .threads = 0}), InputError);
  EXPECT_THROW(FeedForward({.in = 1, .hidden = 1, .out = 1, .threshold = Tensors::kNan}), InputError);
  FeedForward plan({.in = 1, .hidden = 1, .out = 1});
  FeedForwardPass pass;
  float value = 1;
  EXPECT_THROW(plan.forward(1, nullptr, &value, nullptr, &value, pass), InputError);
  EXPECT_THROW(plan.backward(pass, {.output_grad = &value}), InputError);  // no forward pass before it
}

}  // namespace
}  // namespace lacuna::kernels
