// Batch norm with what follows it, ReLU and the optimizer. Included after block.hpp.

void moments(const float* x, std::int64_t pixels, const float* origin, double* sums, double* squares) {
  for (std::int64_t from = 0; from < pixels; from += kFloatPixels)
    for (int v = 0; v < kVectors; ++v) {
      const Vector at = load(origin + v * kWidth);
      Vector sum[kChains]{}, square[kChains]{};
      each_pixel(
          from, smaller(pixels, from + kFloatPixels),
          v, [&](std::int64_t i, int chain) __attribute__((always_inline)) {
            ahead(x + i);
            const Vector d = load(x + i) - at;
            sum[chain] += d;
            square[chain] += d * d;
          });
      flush(sum, sums + v * kWidth);
      flush(square, squares + v * kWidth);
    }
}

// Zero where it is not positive; NaN stays.
LACUNA_INLINE Vector positive(Vector y) { return where(~(y <= Vector{}), y); }

template <bool kOther, bool kRelu>
LACUNA_INLINE void normalize_as(const NormalizePass& pass) {
  for (int v = 0; v < kVectors; ++v) {
    const Vector scale = load(pass.scale + v * kWidth), shift = load(pass.shift + v * kWidth);
    each_pixel(
        0, pass.pixels, v, [&](std::int64_t i, int) __attribute__((always_inline)) {
          ahead(pass.x + i);
          ahead(pass.out + i);
          if (kOther) ahead(pass.other + i);
          Vector y = scale * load(pass.x + i) + shift;
          if (kOther) y += load(pass.other + i);
          store(pass.out + i, kRelu ? positive(y) : y);
        });
  }
}

void normalize(const NormalizePass& pass) {
  if (pass.other != nullptr)
    return pass.relu ? normalize_as<true, true>(pass) : normalize_as<true, false>(pass);
  return pass.relu ? normalize_as<false, true>(pass) : normalize_as<false, false>(pass);
}

template <bool kLate, NormSumsPass::Mask kMask>
LACUNA_INLINE void norm_sums_as(const NormSumsPass& pass) {
  using Kind = NormSumsPass::Mask;
  for (std::int64_t from = 0; from < pass.pixels; from += kFloatPixels)
    for (int v = 0; v < kVectors; ++v) {
      const Vector mean = load(pass.mean + v * kWidth);
      const Vector scale = load(pass.scale + v * kWidth), shift = load(pass.shift + v * kWidth);
      Vector sum[kChains]{}, product[kChains]{};
      each_pixel(
          from, smaller(pass.pixels, from + kFloatPixels),
          v, [&](std::int64_t i, int chain) __attribute__((always_inline)) {
            ahead(pass.gradient + i);
            ahead(pass.x + i);
            if (kLate) ahead(pass.late + i);
            if (kMask == Kind::kOutput) ahead(pass.out + i);
            Vector g = load(pass.gradient + i);
            const Vector x = load(pass.x + i);
            if (kLate) g += load(pass.late + i);
            if (kLate && kMask != Kind::kOutput) store(pass.gradient + i, g);
            if (kMask == Kind::kInput) g = where(scale * x + shift > Vector{}, g);
            if (kMask == Kind::kOutput) {
              g = where(load(pass.out + i) > Vector{}, g);
              store(pass.gradient + i, g);
            }
            sum[chain] += g;
            product[chain] += g * (x - mean);
          });
      flush(sum, pass.sums + v * kWidth);
      flush(product, pass.products + v * kWidth);
    }
}

void norm_sums(const NormSumsPass& pass) {
  using Kind = NormSumsPass::Mask;
  const bool late = pass.late != nullptr;
  switch (pass.mask) {
    case Kind::kNone:
      return late ? norm_sums_as<true, Kind::kNone>(pass) : norm_sums_as<false, Kind::kNone>(pass);
    case Kind::kInput:
      return late ? norm_sums_as<true, Kind::kInput>(pass) : norm_sums_as<false, Kind::kInput>(pass);
    case Kind::kOutput:
      return late ? norm_sums_as<true, Kind::kOutput>(pass) : norm_sums_as<false, Kind::kOutput>(pass);
  }
}

template <bool kMasked>
LACUNA_INLINE void norm_gradient_as(const NormGradientPass& pass) {
  for (int v = 0; v < kVectors; ++v) {
    const auto lanes = [v](const float* all) __attribute__((always_inline)) {
      return load(all + v * kWidth);
    };
    const Vector mean = lanes(pass.mean), scale = lanes(pass.scale), shift = lanes(pass.shift);
    const Vector by_gradient = lanes(pass.by_gradient), by_x = lanes(pass.by_x);
    const Vector constant = lanes(pass.constant);
    each_pixel(
        0, pass.pixels, v, [&](std::int64_t i, int) __attribute__((always_inline)) {
          ahead(pass.x + i);
          ahead(pass.gradient + i);
          const Vector x = load(pass.x + i);
          Vector g = load(pass.gradient + i);
          if (kMasked) g = where(scale * x + shift > Vector{}, g);
          store(pass.diff_x + i, by_gradient * g + (by_x * (x - mean) + constant));
        });
  }
}

void norm_gradient(const NormGradientPass& pass) {
  return pass.masked ? norm_gradient_as<true>(pass) : norm_gradient_as<false>(pass);
}

void relu(const float* from, std::int64_t pixels, float* to) {
  for (std::int64_t i = 0; i < pixels * kBlock; i += kWidth) store(to + i, positive(load(from + i)));
}

void relu_gradient(const float* out, const float* gradient, std::int64_t pixels, float* to, double* sums) {
  if (sums == nullptr) {
    for (std::int64_t i = 0; i < pixels * kBlock; i += kWidth)
      store(to + i, where(load(out + i) > Vector{}, load(gradient + i)));
    return;
  }
  for (std::int64_t from = 0; from < pixels; from += kFloatPixels)
    for (int v = 0; v < kVectors; ++v) {
      Vector sum[kChains]{};
      each_pixel(
          from, smaller(pixels, from + kFloatPixels),
          v, [&](std::int64_t i, int chain) __attribute__((always_inline)) {
            const Vector g = where(load(out + i) > Vector{}, load(gradient + i));
            store(to + i, g);
            sum[chain] += g;
          });
      flush(sum, sums + v * kWidth);
    }
}

void sgd(float* value, float* velocity, const float* gradient, std::int64_t count, float rate, float momentum,
         float decay) {
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    ahead(value + i);
    ahead(velocity + i);
    ahead(gradient + i);
    const Vector w = load(value + i);
    const Vector v = momentum * load(velocity + i) + (load(gradient + i) + decay * w);
    store(velocity + i, v);
    store(value + i, w - rate * v);
  }
  for (; i < count; ++i) {
    velocity[i] = momentum * velocity[i] + (gradient[i] + decay * value[i]);
    value[i] -= rate * velocity[i];
  }
}

// Vectors of GCC have no square root, so the compiler makes them of this loop.
void adamw(const AdamwPass& pass) {
  const AdamwPass p = pass;
  float* __restrict value = p.value;
  float* __restrict mean = p.mean;
  float* __restrict square = p.square;
  const float* __restrict gradient = p.gradient;
  for (std::int64_t i = 0; i < p.count; ++i) {
    const float g = gradient[i];
    const float m = mean[i] + p.one_minus_beta1 * (g - mean[i]);
    const float s = square[i] + p.one_minus_beta2 * (g * g - square[i]);
    mean[i] = m;
    square[i] = s;
    value[i] = p.kept * value[i] - p.rate * m / (__builtin_sqrtf(s) * p.by_root + p.eps);
  }
}
