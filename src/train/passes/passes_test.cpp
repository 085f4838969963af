// Each pass over memory, for every instruction set of this CPU, against plain loops in double precision.
#include "train/passes/passes.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "base/random.hpp"

namespace lacuna::train {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr double kPassTolerance = 1e-5;

std::vector<const Passes*> all_passes() {
  std::vector<const Passes*> all;
  for (const Isa isa : kIsas)
    if (isa_available(isa)) all.push_back(&passes(isa));
  return all;
}

// Multiples of 1/64 around `center`, zero now and then: sums of them are exact, and so are decisions.
Floats draw(Random& random, std::int64_t count, double center = 0) {
  Floats values(static_cast<std::size_t>(count));
  for (float& v : values)
    v = random.chance(0.2) ? 0
                           : static_cast<float>(center + static_cast<double>(random.integer(-128, 128)) / 64);
  return values;
}

// f(passes, random, pixels) for a few cases of each instruction set.
template <typename Check>
void each_case(const Check& check) {
  for (const Passes* run : all_passes())
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      Random random(seed);
      const std::int64_t pixels = seed % 4 == 0 ? random.integer(1000, 2600) : random.integer(1, 40);
      SCOPED_TRACE(std::string(run->isa) + ", seed " + std::to_string(seed) + ", pixels " +
                   std::to_string(pixels));
      check(*run, random, pixels);
    }
}

void expect_close(const Doubles& expected, const Doubles& got) {
  ASSERT_EQ(expected.size(), got.size());
  double most = 0;
  for (const double v : expected) most = std::max(most, std::fabs(v));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(expected[i], got[i], kPassTolerance * most + 1e-6) << i;
}
void expect_close(const Doubles& expected, const Floats& got) {
  expect_close(expected, Doubles(got.begin(), got.end()));
}

TEST(Passes, Moments) {
  each_case([](const Passes& run, Random& random, std::int64_t pixels) {
    const Floats x = draw(random, pixels * kBlock, 3), origin = draw(random, kBlock, 3);
    Doubles sums(kBlock, 7), squares(kBlock, 9), got_sums = sums, got_squares = squares;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d = static_cast<double>(x[i]) - static_cast<double>(origin[i % kBlock]);
      sums[i % kBlock] += d;
      squares[i % kBlock] += d * d;
    }
    run.moments(x.data(), pixels, origin.data(), got_sums.data(), got_squares.data());
    expect_close(sums, got_sums);
    expect_close(squares, got_squares);
  });
}

TEST(Passes, Normalize) {
  each_case([](const Passes& run, Random& random, std::int64_t pixels) {
    const Floats x = draw(random, pixels * kBlock), other = draw(random, pixels * kBlock);
    const Floats scale = draw(random, kBlock), shift = draw(random, kBlock);
    for (const bool add : {false, true})
      for (const bool relu : {false, true}) {
        Floats out(x.size(), 5);
        run.normalize(
            {x.data(), add ? other.data() : nullptr, out.data(), pixels, scale.data(), shift.data(), relu});
        Doubles expected;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t lane = i % kBlock;
          const double y = static_cast<double>(scale[lane]) * static_cast<double>(x[i]) +
                           static_cast<double>(shift[lane]) + (add ? static_cast<double>(other[i]) : 0);
          expected.push_back(relu ? std::max(y, 0.0) : y);
        }
        expect_close(expected, out);
      }
  });
}

TEST(Passes, GradientOfNorm) {
  using Mask = NormSumsPass::Mask;
  each_case([](const Passes& run, Random& random, std::int64_t pixels) {
    const Floats x = draw(random, pixels * kBlock), out = draw(random, pixels * kBlock);
    const Floats gradient = draw(random, pixels * kBlock), late = draw(random, pixels * kBlock);
    const Floats mean = draw(random, kBlock), scale = draw(random, kBlock), shift = draw(random, kBlock);
    const Floats a = draw(random, kBlock), b = draw(random, kBlock), c = draw(random, kBlock);
    for (const Mask mask : {Mask::kNone, Mask::kInput, Mask::kOutput})
      for (const bool add : {false, true}) {
        Floats given = gradient;
        Doubles sums(kBlock, 1), products(kBlock, 2), got_sums = sums, got_products = products;
        run.norm_sums({x.data(), out.data(), given.data(), add ? late.data() : nullptr, pixels, mean.data(),
                       scale.data(), shift.data(), mask, got_sums.data(), got_products.data()});
        Floats diff_x(x.size());
        run.norm_gradient({x.data(), given.data(), diff_x.data(), pixels, mean.data(), scale.data(),
                           shift.data(), a.data(), b.data(), c.data(), mask == Mask::kInput});
        Doubles left, expected;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t lane = i % kBlock;
          const double at = static_cast<double>(x[i]);
          const double all = static_cast<double>(gradient[i]) + (add ? static_cast<double>(late[i]) : 0);
          const bool passes_input =
              static_cast<double>(scale[lane]) * at + static_cast<double>(shift[lane]) > 0;
          const bool passed = mask == Mask::kNone || (mask == Mask::kInput ? passes_input : out[i] > 0);
          const double g = passed ? all : 0, distance = at - static_cast<double>(mean[lane]);
          left.push_back(mask == Mask::kOutput ? g : all);
          sums[lane] += g;
          products[lane] += g * distance;
          expected.push_back(static_cast<double>(a[lane]) * g + static_cast<double>(b[lane]) * distance +
                             static_cast<double>(c[lane]));
        }
        expect_close(left, given);
        expect_close(sums, got_sums);
        expect_close(products, got_products);
        expect_close(expected, diff_x);
        run.norm_gradient({x.data(), given.data(), given.data(), pixels, mean.data(), scale.data(),
                           shift.data(), a.data(), b.data(), c.data(), mask == Mask::kInput});
        EXPECT_EQ(given, diff_x) << "in place";
      }
  });
}

TEST(Passes, Relu) {
  each_case([](const Passes& run, Random& random, std::int64_t pixels) {
    const Floats x = draw(random, pixels * kBlock), gradient = draw(random, pixels * kBlock);
    Floats out = x, masked(x.size()), again = gradient;
    run.relu(out.data(), pixels, out.data());
    Doubles sums(kBlock, 3), got_sums = sums, left;
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(out[i], std::max(x[i], 0.0F));
      left.push_back(x[i] > 0 ? static_cast<double>(gradient[i]) : 0);
      sums[i % kBlock] += left.back();
    }
    run.relu_gradient(out.data(), gradient.data(), pixels, masked.data(), got_sums.data());
    run.relu_gradient(out.data(), again.data(), pixels, again.data(), nullptr);
    expect_close(left, masked);
    expect_close(sums, got_sums);
    EXPECT_EQ(masked, again);
  });
}

TEST(Passes, NanStays) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Passes* run : all_passes()) {
    Floats x(kBlock, -1), ones(kBlock, 1), out(kBlock);
    x[3] = nan;
    run->relu(x.data(), 1, out.data());
    EXPECT_TRUE(std::isnan(out[3]));
    EXPECT_EQ(out[4], 0);
    run->normalize({x.data(), nullptr, out.data(), 1, ones.data(), ones.data(), true});
    EXPECT_TRUE(std::isnan(out[3]));
    const MaxPoolPass pool{1, 2, 1, 1, 1, 2, 1, 2, 0, 0, true};
    Floats two(2 * kBlock, 1);
    two[3] = nan;
    std::vector<std::uint8_t> at(kBlock);
    run->max_pool(pool, two.data(), out.data(), at.data());
    EXPECT_TRUE(std::isnan(out[3]));
  }
}

TEST(Passes, MaxPool) {
  for (const Passes* run : all_passes())
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      Random random(seed);
      MaxPoolPass pool{};
      pool.kernel_h = random.integer(1, 4);
      pool.kernel_w = seed % 3 == 0 ? random.integer(1, 4) : pool.kernel_h;
      const bool tiles = seed % 2 == 0;
      pool.stride_h = tiles ? pool.kernel_h : random.integer(1, 4);
      pool.stride_w = tiles ? pool.kernel_w : random.integer(1, 4);
      pool.padding_h = tiles ? 0 : random.integer(0, pool.kernel_h / 2);
      pool.padding_w = tiles ? 0 : random.integer(0, pool.kernel_w / 2);
      pool.height = random.integer(std::max<std::int64_t>(pool.kernel_h, 2), 11);
      pool.width = random.integer(std::max<std::int64_t>(pool.kernel_w, 2), 11);
      pool.out_height = (pool.height + 2 * pool.padding_h - pool.kernel_h) / pool.stride_h + 1;
      pool.out_width = (pool.width + 2 * pool.padding_w - pool.kernel_w) / pool.stride_w + 1;
      pool.positive = random.chance(0.5);
      SCOPED_TRACE(std::string(run->isa) + ", seed " + std::to_string(seed));
      const Floats in = draw(random, pool.height * pool.width * kBlock, pool.positive ? -0.5 : 0);
      const Floats gradient = draw(random, pool.out_height * pool.out_width * kBlock);
      Floats out(gradient.size()), expected_out;
      Doubles expected(in.size(), 0);
      for (std::int64_t oy = 0; oy < pool.out_height; ++oy)
        for (std::int64_t ox = 0; ox < pool.out_width; ++ox)
          for (std::int64_t lane = 0; lane < kBlock; ++lane) {
            std::int64_t best = -1;
            for (std::int64_t y = 0; y < pool.kernel_h; ++y)
              for (std::int64_t x = 0; x < pool.kernel_w; ++x) {
                const std::int64_t row = oy * pool.stride_h - pool.padding_h + y;
                const std::int64_t column = ox * pool.stride_w - pool.padding_w + x;
                if (row < 0 || column < 0 || row >= pool.height || column >= pool.width) continue;
                const std::int64_t i = (row * pool.width + column) * kBlock + lane;
                if (best < 0 || in[static_cast<std::size_t>(i)] > in[static_cast<std::size_t>(best)])
                  best = i;
              }
            const float most = in[static_cast<std::size_t>(best)];
            if (!pool.positive || most > 0)
              expected[static_cast<std::size_t>(best)] += static_cast<double>(gradient[expected_out.size()]);
            expected_out.push_back(most);
          }
      std::vector<std::uint8_t> at(out.size());
      run->max_pool(pool, in.data(), out.data(), at.data());
      EXPECT_EQ(out, expected_out);
      Floats diff(in.size(), 99);
      run->max_pool_gradient(pool, gradient.data(), at.data(), diff.data());
      expect_close(expected, diff);
    }
}

TEST(Passes, Sgd) {
  each_case([](const Passes& run, Random& random, std::int64_t pixels) {
    const std::int64_t count = pixels * 5 + 3;
    Floats value = draw(random, count), velocity = draw(random, count);
    const Floats gradient = draw(random, count);
    Doubles values, velocities;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto w = static_cast<double>(value[i]);
      velocities.push_back(0.5 * static_cast<double>(velocity[i]) +
                           (static_cast<double>(gradient[i]) + 0.25 * w));
      values.push_back(w - 0.125 * velocities.back());
    }
    run.sgd(value.data(), velocity.data(), gradient.data(), count, 0.125F, 0.5F, 0.25F);
    expect_close(velocities, velocity);
    expect_close(values, value);
  });
}

TEST(Passes, Adamw) {
  each_case([](const Passes& run, Random& random, std::int64_t pixels) {
    const std::int64_t count = pixels * 5 + 3;
    Floats value = draw(random, count), mean = draw(random, count), square = draw(random, count);
    for (float& s : square) s *= s;
    const Floats gradient = draw(random, count);
    Doubles values, means, squares;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto w = static_cast<double>(value[i]), g = static_cast<double>(gradient[i]);
      means.push_back(0.75 * static_cast<double>(mean[i]) + 0.25 * g);
      squares.push_back(0.875 * static_cast<double>(square[i]) + 0.125 * g * g);
      values.push_back(0.5 * w - 0.125 * means.back() / (2 * std::sqrt(squares.back()) + 0.0625));
    }
    run.adamw({.value = value.data(),
               .mean = mean.data(),
               .square = square.data(),
               .gradient = gradient.data(),
               .count = count,
               .one_minus_beta1 = 0.25F,
               .one_minus_beta2 = 0.125F,
               .kept = 0.5F,
               .rate = 0.125F,
               .by_root = 2,
               .eps = 0.0625F});
    expect_close(means, mean);
    expect_close(squares, square);
    expect_close(values, value);
  });
}

}  // namespace
}  // namespace lacuna::train
