// Sparse training: products of a layer multiply only the largest values of some operands. Everything is
// learnt, nothing is pruned: the values left out change with every step.
#pragma once

#include <array>
#include <cstdint>

namespace lacuna::train {

// Operands of a layer that are replaced, and the products that multiply the replacements.
struct OperandRule {
  enum class Among {
    kAll,        // every value is kept
    kOfLayer,    // the largest of the whole batch
    kOfSamples,  // the largest of each sample
  };
  double density = 1;                // share of the values that is kept
  bool weights = false;              // largest of the layer's, in forward and input_grad
  Among activations = Among::kAll;   // in weight_grad
  bool forward_activations = false;  // in forward as well
  Among gradients = Among::kAll;     // in input_grad and weight_grad

  int bits = 0;  // of weights in forward and input_grad, of activations in forward and weight_grad; 0: all
  bool reuse = false;  // gradients as differences to the step before, at the density of the step

  bool changes_activations() const { return activations != Among::kAll || bits > 0; }
  bool changes_weights() const { return weights || bits > 0; }
  bool changes_gradients() const { return gradients != Among::kAll || reuse; }
};

struct SparsifyOptions {
  enum class Method {
    kNone,
    kSwat,     // weights in forward and input_grad, activations in weight_grad [Raihan and Aamodt 2020]
    kTopK,     // all operands of all products
    kMeProp,   // gradients [Sun et al. 2017; the selective backpropagation of TensorDash §1]
    kReSprop,  // differences of gradients to the step before [Goli and Aamodt 2020]
    kSwatReSprop,
  };
  Method method = Method::kNone;
  double density = 0.1;
  std::int64_t warmup = 0;  // steps before ReSprop keeps as few differences as that

  bool reuses() const { return method == Method::kReSprop || method == Method::kSwatReSprop; }
  // Returns the share of the differences that ReSprop keeps in a step.
  double reuse_density(std::int64_t step) const;
};
inline constexpr std::array kSparsifyMethods = {"none", "swat", "topk", "meprop", "resprop", "swat+resprop"};
inline const char* sparsify_name(SparsifyOptions::Method method) {
  return kSparsifyMethods[static_cast<std::size_t>(method)];
}

struct LayerPosition {
  bool initial = false;  // reads the images
  bool last = false;     // gives the logits
  bool linear = false;
};
// `bits`: what weights and activations are rounded to [quantize.hpp], 0: they are not. One or the other.
OperandRule operand_rule(const SparsifyOptions& options, int bits, const LayerPosition& place);

}  // namespace lacuna::train
