// The geometry of one convolution, linear layer or batch of matrix products. Names follow oneDNN and
// docs/notation.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/operation.hpp"

namespace lacuna {

struct Size2 {
  std::int64_t h = 1;
  std::int64_t w = 1;
  bool operator==(const Size2&) const = default;
};

enum class LayerKind { kConv2d, kLinear, kMatmul };

constexpr std::string_view layer_kind_name(LayerKind kind) {
  return kind == LayerKind::kConv2d ? "conv2d" : kind == LayerKind::kLinear ? "linear" : "matmul";
}

// A linear layer is a 1x1 convolution over 1x1 images whose batch is its rows (samples x time steps)
// [TensorDash §2.1, Table 1], so everything after parsing sees convolutions only. Products of two activations
// (kMatmul) are a linear layer with one group per product: n are the rows of each, c and k those of all
// together, and W holds the right factors. Groups do not meet, so a product is computed from its own two
// factors alone.
struct LayerShape {
  LayerKind kind = LayerKind::kConv2d;
  std::int64_t n = 1;  // samples recorded (linear: rows; matmul: rows of a product)
  std::int64_t c = 1;  // input channels, all groups together
  std::int64_t k = 1;  // output channels, all groups together
  Size2 input;         // H x W
  Size2 output;        // Ho x Wo
  Size2 kernel;        // kh x kw
  Size2 stride;
  Size2 padding{0, 0};  // the same on both sides of an axis
  Size2 dilation;
  std::int64_t groups = 1;  // matmul: products
  // Time steps of a recurrent linear layer: its rows are those of the first step, then of the second and
  // so on, and a step needs the outputs of the one before. Otherwise 1.
  std::int64_t sequence = 1;

  // Rows times matrices: no plane, and the weight gradient reduces over rows.
  bool is_matrix() const { return kind != LayerKind::kConv2d; }
  // Rows that an operation can take together: those of one time step, except that the weight gradient, whose
  // operands are complete when the steps are done, reduces over all of them.
  std::int64_t rows_at_once(Operation op) const { return op == Operation::kWeightGrad ? n : n / sequence; }
  // Returns true if a tensor, or the result of an operation, is one for all samples of a batch: weights and
  // their gradient. Both factors of a matmul belong to a sample.
  bool once_per_batch(Operand role) const { return role == Operand::kW && kind != LayerKind::kMatmul; }
  bool once_per_batch(Operation op) const {
    return op == Operation::kWeightGrad && kind != LayerKind::kMatmul;
  }

  std::int64_t c_per_group() const { return c / groups; }
  std::int64_t k_per_group() const { return k / groups; }
  std::int64_t taps() const { return kernel.h * kernel.w; }
  std::int64_t input_positions() const { return input.h * input.w; }     // of one sample
  std::int64_t output_positions() const { return output.h * output.w; }  // of one sample

  std::int64_t a_elements() const { return n * input_positions() * c; }
  std::int64_t w_elements() const { return k * taps() * c_per_group(); }
  std::int64_t g_elements() const { return n * output_positions() * k; }

  // Multiply-accumulates of the dense convolution; the same for the three operations of training
  // [TensorDash §2: "The convolutions perform the same number of MACs"]. Borders of zeros are included.
  std::int64_t macs() const { return n * output_positions() * k * taps() * c_per_group(); }

  // "3x3 s2 p1 64->128 @ 56x56", for tables and messages
  std::string describe() const;

  // Checks that every size is positive and bounded, that groups divide the channels, that the output size
  // follows from the rest, and that no product of sizes overflows. Throws InputError; `where` starts the
  // message.
  void validate(const std::string& where) const;

  static LayerShape linear(std::int64_t rows, std::int64_t in_features, std::int64_t out_features);
  // A linear layer whose `steps` steps of `samples` rows follow one another.
  static LayerShape recurrent(std::int64_t steps, std::int64_t samples, std::int64_t in_features,
                              std::int64_t out_features);
  // `products` times [rows, in_features] x [in_features, out_features].
  static LayerShape matmul(std::int64_t products, std::int64_t rows, std::int64_t in_features,
                           std::int64_t out_features);
  // The output size is derived from the rest.
  static LayerShape conv2d(std::int64_t n, std::int64_t c, std::int64_t k, Size2 input, Size2 kernel,
                           Size2 stride = {1, 1}, Size2 padding = {0, 0}, Size2 dilation = {1, 1},
                           std::int64_t groups = 1);

  bool operator==(const LayerShape&) const = default;
};

}  // namespace lacuna
