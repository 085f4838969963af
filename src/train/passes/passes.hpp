// Passes over the memory of activations: all that a layer does to a block of 16 channels while it is in the
// registers. Each works on part of an nChw16c tensor, one thread at a time; the layers share out the work.
//
// A vector per channel ("per lane") has 16 floats. Lanes past the last channel have zero coefficients, so
// that they stay zero.
#pragma once

#include <cstdint>

#include "base/cpu.hpp"

namespace lacuna::train {

inline constexpr std::int64_t kBlock = 16;  // channels

// out = scale * x + shift, per lane; + other, if given; max(., 0) with `relu`. NaN stays NaN.
struct NormalizePass {
  const float* x;
  const float* other;
  float* out;
  std::int64_t pixels;
  const float* scale;
  const float* shift;
  bool relu;
};

// The gradient that reaches a batch norm: gradient + late, zero where the output was cut off by a ReLU. Adds
// its sum and the sum of its products with x - mean, per lane.
struct NormSumsPass {
  enum class Mask {
    kNone,
    kInput,  // passes where scale * x + shift is positive, as in NormalizePass
    kOutput  // passes where `out` is positive; the gradient is left masked
  };
  const float* x;
  const float* out;
  float* gradient;    // becomes gradient + late; with kOutput, masked
  const float* late;  // or null
  std::int64_t pixels;
  const float* mean;
  const float* scale;
  const float* shift;
  Mask mask;
  double* sums;
  double* products;
};

// diff_x = by_gradient * gradient + by_x * (x - mean) + constant, per lane, the gradient masked by the input
// if `masked`. diff_x may be the gradient itself.
struct NormGradientPass {
  const float* x;
  const float* gradient;
  float* diff_x;
  std::int64_t pixels;
  const float* mean;
  const float* scale;
  const float* shift;
  const float* by_gradient;
  const float* by_x;
  const float* constant;
  bool masked;
};

// One plane of a max pool. `at`: by output pixel and lane the position of the maximum in its window, the
// first of equal ones.
struct MaxPoolPass {
  static constexpr std::int64_t kPositions = 255;  // that a window may have at most
  static constexpr std::uint8_t kNowhere = 255;    // `positive`: the maximum is not above zero
  std::int64_t height, width, out_height, out_width;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w;
  bool positive;  // a ReLU comes before, whose gradient is zero where its output is
};

// mean += (1 - beta1) * (gradient - mean);  square += (1 - beta2) * (gradient^2 - square);
// value = kept * value - rate * mean / (sqrt(square) * by_root + eps)
struct AdamwPass {
  float* value;
  float* mean;
  float* square;
  const float* gradient;
  std::int64_t count;
  float one_minus_beta1, one_minus_beta2;
  float kept;     // 1 - learning rate * weight decay
  float rate;     // learning rate / (1 - beta1^step)
  float by_root;  // 1 / sqrt(1 - beta2^step)
  float eps;
};

struct Passes {
  const char* isa;
  // Adds the sums of x - origin and of their squares, per lane.
  void (*moments)(const float* x, std::int64_t pixels, const float* origin, double* sums, double* squares);
  void (*normalize)(const NormalizePass& pass);
  void (*norm_sums)(const NormSumsPass& pass);
  void (*norm_gradient)(const NormGradientPass& pass);
  // `pixels` times 16 floats: to = max(from, 0), in place or not.
  void (*relu)(const float* from, std::int64_t pixels, float* to);
  // to = out > 0 ? gradient : 0, in place or not; adds its sums per lane, unless `sums` is null.
  void (*relu_gradient)(const float* out, const float* gradient, std::int64_t pixels, float* to,
                        double* sums);
  void (*max_pool)(const MaxPoolPass& pool, const float* in, float* out, std::uint8_t* at);
  void (*max_pool_gradient)(const MaxPoolPass& pool, const float* gradient, const std::uint8_t* at,
                            float* diff_in);
  // velocity = momentum * velocity + (gradient + decay * value); value -= rate * velocity
  void (*sgd)(float* value, float* velocity, const float* gradient, std::int64_t count, float rate,
              float momentum, float decay);
  void (*adamw)(const AdamwPass& pass);
};

const Passes& passes(Isa isa);
const Passes& passes();  // of the best instruction set

// Each is defined in a file compiled for its instruction set (see kernels/sparse/microkernels.hpp).
extern const Passes kPortablePasses;
#if defined(__x86_64__)
extern const Passes kAvx2Passes;
extern const Passes kAvx512Passes;
#endif

}  // namespace lacuna::train
