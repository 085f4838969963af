// The transforms of F(4x4, 3x3), each a matrix that is applied to columns and rows. Included inside the
// unnamed namespace of one file per instruction set.
//
// Interpolation points 0, +-5/8, +-3/2 and infinity: the matrices follow from them as Lagrange's polynomials
// (input), their values (result) and their denominators (weights). The textbook's points 0, +-1, +-2 need the
// same number of operations and have twice the rounding error (docs/results/winograd.md).

constexpr float kNear = 0.625F, kFar = 1.5F;
constexpr float kNear2 = kNear * kNear, kFar2 = kFar * kFar, kBoth2 = kNear2 * kFar2;
constexpr float kNearScale = 1 / (2 * kNear2 * (kNear2 - kFar2));
constexpr float kFarScale = 1 / (2 * kFar2 * (kFar2 - kNear2));

#define LACUNA_INLINE __attribute__((always_inline)) inline

LACUNA_INLINE Simd::V fma(float a, const Simd::V& b, const Simd::V& c) {
  return Simd::fma(Simd::all(a), b, c);
}
LACUNA_INLINE Simd::V mul(float a, const Simd::V& b) { return Simd::mul(Simd::all(a), b); }

struct InputTransform {
  static constexpr int kIn = 6, kOut = 6;
  LACUNA_INLINE static void apply(const Simd::V* d, Simd::V* v) {
    v[0] = fma(kBoth2, d[0], fma(-(kNear2 + kFar2), d[2], d[4]));
    const Simd::V near_even = fma(-kFar2, d[2], d[4]), near_odd = fma(-kFar2, d[1], d[3]);
    v[1] = fma(kNear, near_odd, near_even);
    v[2] = fma(-kNear, near_odd, near_even);
    const Simd::V far_even = fma(-kNear2, d[2], d[4]), far_odd = fma(-kNear2, d[1], d[3]);
    v[3] = fma(kFar, far_odd, far_even);
    v[4] = fma(-kFar, far_odd, far_even);
    v[5] = fma(kBoth2, d[1], fma(-(kNear2 + kFar2), d[3], d[5]));
  }
};

struct ResultTransform {
  static constexpr int kIn = 6, kOut = 4;
  LACUNA_INLINE static void apply(const Simd::V* m, Simd::V* y) {
    const Simd::V near_sum = Simd::add(m[1], m[2]), near_difference = Simd::sub(m[1], m[2]);
    const Simd::V far_sum = Simd::add(m[3], m[4]), far_difference = Simd::sub(m[3], m[4]);
    y[0] = Simd::add(m[0], Simd::add(near_sum, far_sum));
    y[1] = fma(kNear, near_difference, mul(kFar, far_difference));
    y[2] = fma(kNear2, near_sum, mul(kFar2, far_sum));
    y[3] = fma(kNear2 * kNear, near_difference, fma(kFar2 * kFar, far_difference, m[5]));
  }
};

// The transpose of ResultTransform.
struct GradientTransform {
  static constexpr int kIn = 4, kOut = 6;
  LACUNA_INLINE static void apply(const Simd::V* y, Simd::V* u) {
    u[0] = y[0];
    const Simd::V near_even = fma(kNear2, y[2], y[0]);
    const Simd::V near_odd = fma(kNear2 * kNear, y[3], mul(kNear, y[1]));
    u[1] = Simd::add(near_even, near_odd);
    u[2] = Simd::sub(near_even, near_odd);
    const Simd::V far_even = fma(kFar2, y[2], y[0]);
    const Simd::V far_odd = fma(kFar2 * kFar, y[3], mul(kFar, y[1]));
    u[3] = Simd::add(far_even, far_odd);
    u[4] = Simd::sub(far_even, far_odd);
    u[5] = y[3];
  }
};

struct WeightTransform {
  static constexpr int kIn = 3, kOut = 6;
  LACUNA_INLINE static void apply(const Simd::V* g, Simd::V* u) {
    u[0] = mul(1 / kBoth2, g[0]);
    const Simd::V near_even = fma(kNearScale * kNear2, g[2], mul(kNearScale, g[0]));
    const Simd::V near_odd = mul(kNearScale * kNear, g[1]);
    u[1] = Simd::add(near_even, near_odd);
    u[2] = Simd::sub(near_even, near_odd);
    const Simd::V far_even = fma(kFarScale * kFar2, g[2], mul(kFarScale, g[0]));
    const Simd::V far_odd = mul(kFarScale * kFar, g[1]);
    u[3] = Simd::add(far_even, far_odd);
    u[4] = Simd::sub(far_even, far_odd);
    u[5] = g[2];
  }
};

// The transpose of WeightTransform.
struct WeightGradientTransform {
  static constexpr int kIn = 6, kOut = 3;
  LACUNA_INLINE static void apply(const Simd::V* u, Simd::V* g) {
    const Simd::V near_sum = Simd::add(u[1], u[2]), near_difference = Simd::sub(u[1], u[2]);
    const Simd::V far_sum = Simd::add(u[3], u[4]), far_difference = Simd::sub(u[3], u[4]);
    g[0] = fma(1 / kBoth2, u[0], fma(kNearScale, near_sum, mul(kFarScale, far_sum)));
    g[1] = fma(kNearScale * kNear, near_difference, mul(kFarScale * kFar, far_difference));
    g[2] = fma(kNearScale * kNear2, near_sum, fma(kFarScale * kFar2, far_sum, u[5]));
  }
};

// Applies a transform to the rows and then to the columns of load(row, column).
template <typename Transform, typename Load, typename Store>
LACUNA_INLINE void transform(const Load& load, const Store& store) {
  Simd::V half[Transform::kIn][Transform::kOut];
#pragma GCC unroll 6
  for (int i = 0; i < Transform::kIn; ++i) {
    Simd::V row[Transform::kIn];
#pragma GCC unroll 6
    for (int j = 0; j < Transform::kIn; ++j) row[j] = load(i, j);
    Transform::apply(row, half[i]);
  }
#pragma GCC unroll 6
  for (int j = 0; j < Transform::kOut; ++j) {
    Simd::V column[Transform::kIn], result[Transform::kOut];
#pragma GCC unroll 6
    for (int i = 0; i < Transform::kIn; ++i) column[i] = half[i][j];
    Transform::apply(column, result);
#pragma GCC unroll 6
    for (int i = 0; i < Transform::kOut; ++i) store(i, j, result[i]);
  }
}
