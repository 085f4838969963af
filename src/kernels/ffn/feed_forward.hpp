// The feed-forward block of a transformer, x -> up -> activation -> down, where the activation leaves zeros.
//
// `up` forward is a dense product and the caller's. The non-zeros of the hidden values are listed in the pass
// that applies the activation, and serve five products: `down` forward and both weight gradients as sums of
// selected rows, input_grad of `down` only where the activation is not zero (elsewhere its derivative is),
// and input_grad of `up` from that.
//
//   FeedForward block({.in = 768, .hidden = 3072, .out = 768, .threads = 8});
//   FeedForwardPass pass;
//   block.forward(tokens, hidden, weights, bias, output, pass);
//   block.backward(pass, gradients);
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/ffn/list_products.hpp"
#include "kernels/layout/aligned_floats.hpp"

namespace lacuna::kernels {

enum class Activation { kRelu, kReluSquared, kThresholded };

struct FeedForwardOptions {
  std::int64_t in = 0, hidden = 0, out = 0;
  Activation activation = Activation::kRelu;
  float threshold = 0;  // kThresholded: what is not greater becomes zero; at least 0
  int threads = 1;
  std::string isa{};  // "": the best of this CPU
};

// State that a forward pass keeps for its backward pass. It has no hidden values, so the caller may free
// them.
struct FeedForwardPass {
  std::int64_t tokens = 0;           // 0: no forward pass yet, or one that failed
  std::int64_t hidden = 0, out = 0;  // of the block
  NonzeroLists lists;
  AlignedFloats down;  // weights, hidden x out, in panels
};

// Results that are null are not computed.
struct FeedForwardGradients {
  const float* output_grad = nullptr;  // [token][out]
  const float* input = nullptr;        // [token][in]
  const float* up = nullptr;           // weights, [hidden][in]
  float* input_grad = nullptr;         // needs `up`
  float* up_grad = nullptr;            // needs `input`
  float* up_bias_grad = nullptr;       // [hidden]
  float* down_grad = nullptr;          // [out][hidden]
};

class FeedForward {
 public:
  explicit FeedForward(const FeedForwardOptions& options);  // throws InputError

  const FeedForwardOptions& options() const { return options_; }
  // `hidden` are the outputs of `up`, [token][hidden], `down` its weights, [out][hidden], `bias` may be null.
  // `pass` is overwritten, and its memory reused.
  void forward(std::int64_t tokens, const float* hidden, const float* down, const float* bias, float* output,
               FeedForwardPass& pass) const;
  // One at a time. May be repeated with one pass.
  void backward(FeedForwardPass& pass, const FeedForwardGradients& gradients);

 private:
  FeedForwardOptions options_;
  Isa isa_;
  AlignedFloats output_grad_, operand_;  // in panels
};

}  // namespace lacuna::kernels
