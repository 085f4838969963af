// The CPU's arithmetic behind rtl/tb/fp_dpi: denormals flushed, one NaN, as the units have it.
#include <bit>
#include <cmath>
#include <cstdint>
#include <xmmintrin.h>

namespace {

constexpr std::uint32_t kNan = 0x7fc00000;

template <typename Operation>
std::uint32_t compute(std::uint32_t a, std::uint32_t b, Operation operation) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040U);
  const volatile float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  const volatile float result = operation(x, y);
  _mm_setcsr(before);
  return std::isnan(result) ? kNan : std::bit_cast<std::uint32_t>(static_cast<float>(result));
}

}  // namespace

extern "C" {
std::uint32_t lacuna_fp_mul(std::uint32_t a, std::uint32_t b) {
  return compute(a, b, [](float x, float y) { return x * y; });
}
std::uint32_t lacuna_fp_add(std::uint32_t a, std::uint32_t b) {
  return compute(a, b, [](float x, float y) { return x + y; });
}
}
