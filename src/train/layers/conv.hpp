// Convolutions and linear layers by src/kernels.
#pragma once

#include <array>
#include <optional>

#include "kernels/conv.hpp"
#include "train/layers/gradient_reuse.hpp"
#include "train/layers/layer.hpp"
#include "train/layers/operands.hpp"

namespace lacuna::train {

enum class Kernels {
  kDense,   // oneDNN, direct convolution
  kSparse,  // zero-skipping, except in the first layer: images have no zeros
  kAuto,    // whichever the dispatcher expects to be faster, for each call
};
inline constexpr std::array kKernels = {"dense", "sparse", "auto"};
inline const char* kernels_name(Kernels kernels) { return kKernels[static_cast<std::size_t>(kernels)]; }

// Counts and time of one of the three operations of a layer so far.
struct OpUse {
  double seconds = 0;
  std::int64_t calls = 0;
  std::int64_t sparse_calls = 0;             // that skipped zeros
  PerOperand<std::int64_t> skipped_calls{};  // of them
  std::int64_t winograd_calls = 0;
};

struct ConvLayerOptions {
  Kernels kernels = Kernels::kDense;
  bool initial = false;         // its input is the images, whose gradient is not needed
  bool relu = false;            // forward gives max(y, 0)
  bool bias_grad_done = false;  // by the layer behind, in the pass that gives the gradient of the output
  int threads = 1;
  OperandRule rule{};
  OperandRoom* room = nullptr;  // where the rule replaces activations or gradients
  bool zero_weights = false;    // most weights are zero: those may be skipped instead of zeros of A or G
  bool bfloat16 = false;  // may multiply operands rounded to bfloat16; kDense: wherever there is a kernel
  bool allow_winograd = false;  // kAuto may choose it
  // Nobody needs the gradient of the input where the input is zero: kAuto and kSparse may leave it out.
  bool needed_only = false;
};

class ConvLayer final : public Layer {
 public:
  ConvLayer(const Node& node, const LayerShape& shape, Activation& in, Activation& out,
            const ConvLayerOptions& options);

  void forward(const Pass& pass) override;
  // Clears the gradients of images that are left out: a batch norm gives every image of its batch one.
  void clear_gradients(const std::vector<bool>& left_out);
  // Decides which operands the products multiply. Call it before backward(), once the gradient of the output
  // is complete.
  void prepare_backward();
  void backward(GradientSum& sum) override;
  std::vector<Parameter*> parameters() override;

  const std::string& name() const { return name_; }
  const LayerShape& shape() const { return shape_; }
  bool initial() const { return options_.initial; }
  // The tensors of the step, valid when backward() is about to run.
  const Activation& input() const { return in_; }
  const Activation& output() const { return out_; }
  const Parameter& weights() const { return weights_; }
  Parameter* bias() { return bias_ ? &*bias_ : nullptr; }
  // The operands as multiplied, in the layouts of those tensors: A in weight_grad, W in forward and
  // input_grad, G in both gradients. Valid after prepare_backward().
  const float* multiplied_input() const { return operands_.activations(); }
  const float* multiplied_weights() const { return multiplied_weights_; }
  const float* multiplied_gradient() const { return operands_.gradients(); }
  // A as the forward product multiplied it, where that is another tensor; else null.
  const float* forward_input() const { return operands_.forward_differs() ? in_.data.data() : nullptr; }

  const OpUse& use(Operation op) const { return use_[op]; }
  void reset_use() { use_ = {}; }
  // Share of zeros in A and G as multiplied; where those are the tensors themselves, from a sample of them.
  double input_zeros() const;
  double gradient_zeros() const;
  // Returns the share of zeros in the weights as they would be multiplied now; nothing where all are
  // multiplied.
  std::optional<double> weight_zeros() { return operands_.weight_zeros(weights_); }

 private:
  kernels::ConvPlan make_plan(Operation op, std::optional<Operand> checked) const;
  // `zeros`: share of zeros in the operand that the plan checks, where known (0 to 1).
  void run(Operation op, kernels::ConvPlan& plan, const kernels::ConvTensors& tensors, double zeros = -1);
  void run_weight_grad(const kernels::ConvTensors& tensors);
  void take_pattern();
  void drop_pruned_gradients();
  bool leaves_out_results() const {
    return options_.needed_only && blocked_ && options_.kernels != Kernels::kDense && !options_.initial;
  }
  bool skips_weights() const {
    return options_.zero_weights && options_.kernels != Kernels::kDense && !options_.initial;
  }

  std::string name_;
  LayerShape shape_;
  Activation& in_;
  Activation& out_;
  ConvLayerOptions options_;
  bool blocked_;
  Parameter weights_;
  std::optional<Parameter> bias_;
  Operands operands_;
  const float* multiplied_weights_ = nullptr;
  KernelTensor src_, dst_;
  std::optional<GradientReuse> reuse_;
  bool reuses_ = false;  // in this step
  Pass pass_;            // of this step
  std::optional<kernels::ConvPlan> forward_, input_grad_;
  // weight_grad may skip the zeros of either operand; without kAuto a plan is made when first needed.
  std::optional<kernels::ConvPlan> by_activations_, by_gradients_;
  std::optional<kernels::ConvPlan> by_weights_;  // of the weights alone that pruning keeps
  std::uint64_t pattern_ = 0;                    // Parameter::Kept that the plans have
  PerOperation<OpUse> use_{};
};

}  // namespace lacuna::train
