// ReSprop [Goli and Aamodt 2020]: a backward pass multiplies the largest differences to the gradient of the
// step before, and adds the products of that gradient, which are those of a single sample.
#pragma once

#include <optional>

#include "kernels/conv.hpp"
#include "train/layers/layer.hpp"

namespace lacuna::train {

class GradientReuse {
 public:
  // `input_grad`: the gradient of the input is needed.
  GradientReuse(const std::string& layer, const LayerShape& shape, const Activation& in,
                const Activation& out, bool input_grad, int threads);

  // Returns the gradient of one sample of the previous step, drawn at random: it stands for those of all
  // samples.
  Parameter& previous() { return previous_; }

  // Takes the gradient of this step and draws the sample that the next one will reuse. Below a density of 1,
  // leaves the largest differences of the whole batch in `to`, the rest zero, and returns how many are not
  // zero; at 1 (the first steps) the gradient itself is to be multiplied.
  std::optional<std::int64_t> take(const Activation& out, const Pass& pass, float* to);

  // Call these after take() has returned a count. diff_weights += (sum over the samples of `activations`) *
  // gradient: the sum of the products of every sample with the one gradient.
  void add_weight_grad(const float* activations, float* diff_weights);
  // diff_src of every sample += weights * gradient.
  void add_input_grad(const float* weights, float* diff_src);

  static double floats(const LayerShape& shape);  // that it allocates, about

 private:
  LayerShape shape_;  // of one sample
  std::int64_t samples_;
  std::int64_t in_floats_, out_floats_;  // of one sample
  int threads_;
  std::uint64_t layer_;  // tells the random numbers of layers apart
  Parameter previous_;
  AlignedFloats gradient_;  // that this step reuses
  std::optional<kernels::ConvPlan> weight_grad_, input_grad_;
  AlignedFloats sum_, diff_weights_, diff_src_;
  KernelTensor src_, dst_;
};

}  // namespace lacuna::train
