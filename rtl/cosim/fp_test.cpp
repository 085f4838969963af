// The floating-point units against the CPU, bit by bit. LACUNA_RTL_FULL=1 takes every pair of bfloat16
// operands (2^32) and 10^8 random pairs of FP32; without it, samples of the same. LACUNA_RTL_THREADS: threads
// (1).
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <gtest/gtest.h>
#include <thread>
#include <xmmintrin.h>

#include "Vfp_add32.h"
#include "Vfp_add32_cut.h"
#include "Vfp_add_bf16.h"
#include "Vfp_mul32.h"
#include "Vfp_mul32_cut.h"
#include "Vfp_mul_bf16.h"
#include "Vfp_mul_bf16_fp32.h"
#include "base/random.hpp"
#include "clocking.hpp"
#include "top.hpp"

namespace lacuna::rtl {
namespace {

bool full() { return std::getenv("LACUNA_RTL_FULL") != nullptr; }
unsigned threads() {
  const char* text = std::getenv("LACUNA_RTL_THREADS");
  return text == nullptr ? 1U : static_cast<unsigned>(std::max(1, std::atoi(text)));
}

// Denormal operands are zeros and denormal results become zeros, as the units document.
void flush_denormals() { _mm_setcsr(_mm_getcsr() | 0x8040U); }

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t to_bits(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint32_t flushed(std::uint32_t bits) { return (bits & 0x7f800000U) == 0 ? bits & 0x80000000U : bits; }

// A number rounded to bfloat16, nearest even, with the exponent not limited until after rounding.
std::uint32_t round_to_bf16(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 63) << 15;
  if (std::isnan(value)) return 0x7fc0U;
  if (std::isinf(value)) return sign | 0x7f80U;
  if ((bits << 1) == 0) return sign;
  constexpr int kDropped = 52 - 7;
  const std::uint64_t half = (std::uint64_t{1} << (kDropped - 1)) - 1;
  const std::uint64_t rounded = bits + half + ((bits >> kDropped) & 1U);
  const int exponent = static_cast<int>((rounded >> 52) & 0x7ffU) - 1023;
  if (exponent > 127) return sign | 0x7f80U;
  if (exponent < -126) return sign;
  return sign | static_cast<std::uint32_t>(exponent + 127) << 7 |
         static_cast<std::uint32_t>((rounded >> kDropped) & 0x7fU);
}

bool is_nan32(std::uint32_t bits) { return (bits & 0x7fffffffU) > 0x7f800000U; }
bool is_nan16(std::uint32_t bits) { return (bits & 0x7fffU) > 0x7f80U; }

struct Failure {
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> first{0};
  void add(std::uint32_t a, std::uint32_t b) {
    if (count++ == 0) first = static_cast<std::uint64_t>(a) << 32 | b;
  }
};

// pairs(from, to, check) on each thread's share of [0, count).
template <typename Work>
void share(std::uint64_t count, const Work& work) {
  std::vector<std::thread> pool;
  const unsigned n = threads();
  for (unsigned t = 0; t < n; ++t) pool.emplace_back([&, t] { work(count * t / n, count * (t + 1) / n); });
  for (std::thread& thread : pool) thread.join();
}

// Every exponent meets every exponent with the fractions that round in different ways.
std::vector<std::uint32_t> corners32() {
  std::vector<std::uint32_t> values;
  for (const std::uint32_t exponent :
       {0U,   1U,   2U,   23U,  24U,  25U,  63U,  64U,  65U,  100U, 103U, 104U, 125U, 126U,
        127U, 128U, 129U, 150U, 151U, 152U, 190U, 191U, 192U, 230U, 252U, 253U, 254U, 255U}) {
    for (const std::uint32_t fraction :
         {0U, 1U, 2U, 3U, 0x2aaaaaU, 0x3fffffU, 0x400000U, 0x400001U, 0x555555U, 0x7ffffeU, 0x7fffffU}) {
      values.push_back(exponent << 23 | fraction);
      values.push_back(0x80000000U | exponent << 23 | fraction);
    }
  }
  return values;
}

// Half of the pairs have exponents near each other, where adders cancel and round.
std::pair<std::uint32_t, std::uint32_t> random_pair32(Random& random) {
  const std::uint64_t bits = random.bits();
  auto a = static_cast<std::uint32_t>(bits), b = static_cast<std::uint32_t>(bits >> 32);
  if ((random.bits() & 1U) != 0) {
    const auto exponent =
        static_cast<std::uint32_t>(static_cast<std::int64_t>((a >> 23) & 0xffU) + random.integer(-26, 26)) &
        0xffU;
    b = (b & 0x807fffffU) | exponent << 23;
  }
  return {a, b};
}

template <typename Unit, typename Run, typename Expected>
void check32(const Run& run, const Expected& expected) {
  Failure failure;
  const std::vector<std::uint32_t> corners = corners32();
  const std::uint64_t randoms = full() ? 100'000'000 : 1'000'000;
  const auto check = [&](Unit& unit, std::uint32_t a, std::uint32_t b) {
    const std::uint32_t got = run(unit, a, b), want = expected(a, b);
    if (got != want && !(is_nan32(got) && is_nan32(want))) failure.add(a, b);
  };
  share(corners.size(), [&](std::uint64_t from, std::uint64_t to) {
    flush_denormals();
    OwnedTop<Unit> owned;
    Unit& unit = *owned;
    for (std::uint64_t i = from; i < to; ++i) {
      for (const std::uint32_t b : corners) check(unit, corners[i], b);
    }
  });
  share(randoms, [&](std::uint64_t from, std::uint64_t to) {
    flush_denormals();
    OwnedTop<Unit> owned;
    Unit& unit = *owned;
    Random random(from + 17);
    for (std::uint64_t i = from; i < to; ++i) {
      const auto [a, b] = random_pair32(random);
      check(unit, a, b);
    }
  });
  EXPECT_EQ(failure.count, 0u) << "first: " << std::hex << failure.first;
}

template <typename Unit, typename Run, typename Expected>
void check_bf16(const Run& run, const Expected& expected, bool wide) {
  Failure failure;
  // A sample strides through all pairs with an odd step, so that it meets every value of both operands.
  const std::uint64_t pairs = full() ? std::uint64_t{1} << 32 : 2'000'000;
  const std::uint64_t stride = full() ? 1 : 2'654'435'761U;
  share(pairs, [&](std::uint64_t from, std::uint64_t to) {
    flush_denormals();
    OwnedTop<Unit> owned;
    Unit& unit = *owned;
    for (std::uint64_t i = from; i < to; ++i) {
      const auto at = static_cast<std::uint32_t>(i * stride);
      const std::uint32_t a = at >> 16, b = at & 0xffffU;
      const std::uint32_t got = run(unit, a, b), want = expected(a, b);
      if (got != want && !(wide ? is_nan32(got) && is_nan32(want) : is_nan16(got) && is_nan16(want)))
        failure.add(a, b);
    }
  });
  EXPECT_EQ(failure.count, 0u) << "first: " << std::hex << failure.first;
}

// A unit with registers inside: a pair per cycle, now and then a cycle in which the pipe stands still. `regs`
// counts them.
template <typename Unit, typename Result, typename Expected>
void check_pipe(std::size_t regs, const Result& result, const Expected& expected) {
  flush_denormals();
  OwnedTop<Unit> owned;
  Unit& unit = *owned;
  Random random(23);
  std::deque<std::uint32_t> due;
  for (int i = 0; i < 300'000; ++i) {
    const auto [a, b] = random_pair32(random);
    unit.a_i = a;
    unit.b_i = b;
    unit.enable_i = random.chance(0.8) ? 1 : 0;
    if (unit.enable_i != 0) due.push_back(expected(a, b));
    tick(unit);
    if (due.size() < regs) continue;
    if (due.size() > regs) due.pop_front();
    const std::uint32_t got = result(unit), want = due.front();
    ASSERT_TRUE(got == want || (is_nan32(got) && is_nan32(want))) << std::hex << got << " not " << want;
  }
}

double bf16_value(std::uint32_t bits) { return static_cast<double>(from_bits(flushed(bits << 16))); }

constexpr auto kProduct = [](auto& unit, std::uint32_t a, std::uint32_t b) {
  unit.a_i = static_cast<std::remove_reference_t<decltype(unit.a_i)>>(a);
  unit.b_i = static_cast<std::remove_reference_t<decltype(unit.b_i)>>(b);
  unit.eval();
  return static_cast<std::uint32_t>(unit.product_o);
};
constexpr auto kSum = [](auto& unit, std::uint32_t a, std::uint32_t b) {
  unit.a_i = static_cast<std::remove_reference_t<decltype(unit.a_i)>>(a);
  unit.b_i = static_cast<std::remove_reference_t<decltype(unit.b_i)>>(b);
  unit.eval();
  return static_cast<std::uint32_t>(unit.sum_o);
};

TEST(FloatingPoint, MultiplierFp32) {
  check32<Vfp_mul32>(kProduct,
                     [](std::uint32_t a, std::uint32_t b) { return to_bits(from_bits(a) * from_bits(b)); });
}
TEST(FloatingPoint, AdderFp32) {
  check32<Vfp_add32>(kSum,
                     [](std::uint32_t a, std::uint32_t b) { return to_bits(from_bits(a) + from_bits(b)); });
}
TEST(FloatingPoint, MultiplierInStages) {
  check_pipe<Vfp_mul32_cut>(
      2, [](const auto& unit) { return unit.product_o; },
      [](std::uint32_t a, std::uint32_t b) { return to_bits(from_bits(a) * from_bits(b)); });
}
TEST(FloatingPoint, AdderInStages) {
  check_pipe<Vfp_add32_cut>(
      3, [](const auto& unit) { return unit.sum_o; },
      [](std::uint32_t a, std::uint32_t b) { return to_bits(from_bits(a) + from_bits(b)); });
}
TEST(FloatingPoint, MultiplierBfloat16ToFp32) {
  check_bf16<Vfp_mul_bf16_fp32>(
      kProduct,
      [](std::uint32_t a, std::uint32_t b) { return to_bits(from_bits(a << 16) * from_bits(b << 16)); },
      true);
}
TEST(FloatingPoint, MultiplierBfloat16) {
  check_bf16<Vfp_mul_bf16>(
      kProduct, [](std::uint32_t a, std::uint32_t b) { return round_to_bf16(bf16_value(a) * bf16_value(b)); },
      false);
}
TEST(FloatingPoint, AdderBfloat16) {
  // Two 8-bit significands far apart do not fit a double, but then the smaller one cannot reach a tie.
  check_bf16<Vfp_add_bf16>(
      kSum, [](std::uint32_t a, std::uint32_t b) { return round_to_bf16(bf16_value(a) + bf16_value(b)); },
      false);
}

}  // namespace
}  // namespace lacuna::rtl
