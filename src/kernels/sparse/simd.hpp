// Sixteen floats in registers of kWidth floats, for instruction sets whose registers are smaller. Included by
// the files compiled for one, inside their unnamed namespaces.
//
// GCC's vectors compile to the instructions that intrinsics gave for AVX2, and the pruned kernels are 1.7
// times as fast on SSE as scalar loops were (median of three runs, Zen 5). The rows of the pruned kernels
// written with Highway 1.0.3 take as many lines, the same time on AVX2 and 1.2 times the time on SSE (Zen 4):
// the only operation that instruction sets differ in is nonzero().

#define LACUNA_LAMBDA_INLINE __attribute__((always_inline))

struct Simd {
  using Register = float __attribute__((vector_size(kWidth * sizeof(float))));
  static constexpr int kRegisters = kLanes / kWidth;
  struct V {
    Register part[kRegisters];
  };
  // `each(i)` is the value of register i.
  template <typename Each>
  __attribute__((always_inline)) static V make(const Each& each) {
    V v;
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) v.part[i] = each(i);
    return v;
  }
  __attribute__((always_inline)) static V load(const float* p) {
    return make([&](int i) LACUNA_LAMBDA_INLINE {
      Register r;
      __builtin_memcpy(&r, p + i * kWidth, sizeof r);
      return r;
    });
  }
  __attribute__((always_inline)) static void store(float* p, const V& v) {
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) __builtin_memcpy(p + i * kWidth, &v.part[i], sizeof(Register));
  }
  __attribute__((always_inline)) static V broadcast(const float* p) {
    const Register all = *p - Register{};
    return make([&](int) LACUNA_LAMBDA_INLINE { return all; });
  }
  // One rounding where the instruction set has FMA, two elsewhere.
  __attribute__((always_inline)) static V fma(const V& a, const V& b, const V& c) {
    return make([&](int i) LACUNA_LAMBDA_INLINE { return a.part[i] * b.part[i] + c.part[i]; });
  }
  __attribute__((always_inline)) static V add(const V& a, const V& b) {
    return make([&](int i) LACUNA_LAMBDA_INLINE { return a.part[i] + b.part[i]; });
  }
  __attribute__((always_inline)) static V sub(const V& a, const V& b) {
    return make([&](int i) LACUNA_LAMBDA_INLINE { return a.part[i] - b.part[i]; });
  }
  __attribute__((always_inline)) static V mul(const V& a, const V& b) {
    return make([&](int i) LACUNA_LAMBDA_INLINE { return a.part[i] * b.part[i]; });
  }
  // NaN stays NaN.
  __attribute__((always_inline)) static V relu(const V& v) {
    return make([&](int i) LACUNA_LAMBDA_INLINE { return v.part[i] < Register{} ? Register{} : v.part[i]; });
  }
  __attribute__((always_inline)) static V zero() { return V{}; }
  __attribute__((always_inline)) static V all(float value) {
    return make([&](int) LACUNA_LAMBDA_INLINE { return value - Register{}; });
  }

  // For the pixel kernel: sums of a loop that measures the peak, and output vectors below which there are two
  // sets of sums. Sixteen registers of four floats are too few for either.
  static constexpr bool kPipelined = false;
  static constexpr int kPeakSums = kWidth == 8 ? 4 : 1;
  static constexpr int kTwoChainsBelow = kWidth == 8 ? 3 : 0;
  template <typename Bits>
  __attribute__((always_inline)) static Bits lane_bits() {
    Bits bits{};
    for (int i = 0; i < kWidth; ++i) bits[i] = 1U << i;
    return bits;
  }
  // NaN counts as non-zero, -0.0 as zero.
  __attribute__((always_inline)) static std::uint32_t nonzero(const V& v) {
    std::uint32_t mask = 0;
#if defined(__AVX2__) && !defined(__AVX512F__)  // pairs of __m256
    for (int i = 0; i < kRegisters; ++i)
      mask |= static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(v.part[i] != 0.0F)))
              << (kWidth * i);
#else
    // Bit i of lane i % kWidth; the lanes have no bit in common.
    using Bits = std::uint32_t __attribute__((vector_size(sizeof(Register))));
    Bits bits{};
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i)
      bits |= reinterpret_cast<Bits>(v.part[i] != 0.0F) & (lane_bits<Bits>() << (kWidth * i));
    for (int i = 0; i < kWidth; ++i) mask |= bits[i];
#endif
    return mask;
  }
};
