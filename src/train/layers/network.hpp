// The training engine: a graph with its memory, parameters and layers.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "train/graph/fuse.hpp"
#include "train/graph/graph.hpp"
#include "train/layers/conv.hpp"
#include "train/layers/layers.hpp"
#include "train/layers/loss.hpp"

namespace lacuna::train {

// Precision of the operands of products; sums and everything else are single precision.
enum class Precision { kFloat32, kBfloat16 };
inline constexpr std::array kPrecisions = {"float32", "bfloat16"};

// Input gradients where the input is a zero of a ReLU, which discards them.
enum class NeededGradients {
  kAuto,  // may be left out, by cost with Kernels::kAuto
  kAll,   // are computed
};
inline constexpr std::array kNeededGradients = {"auto", "all"};

struct NetworkOptions {
  std::int64_t batch = 32;
  Kernels kernels = Kernels::kAuto;
  int threads = 1;
  SparsifyOptions sparsify{};
  double learnt_samples = 1;  // share of a batch whose gradients are used [loss.hpp]
  int quantize_bits = 0;      // of weights and activations; 0: single precision
  bool pruned = false;        // most weights are zero [pruning.hpp]: kernels may skip those
  Precision precision = Precision::kFloat32;
  // kAuto may choose it; its rounding errors are larger. False in a network that has too little memory for
  // it.
  bool allow_winograd = false;
  NeededGradients needed = NeededGradients::kAuto;
  int optimizer_states = 1;  // tensors per parameter, for the estimate of memory
};

class Network {
 public:
  // Allocates everything. With kAuto the kernels of shapes that this machine has not seen are measured first;
  // `progress` gets the share that is done. Throws InputError if this machine has too little memory.
  Network(Graph graph, const NetworkOptions& options, const std::function<void(double)>& progress = {});

  // Draws the weights; those of a parameter depend on the seed and its name only.
  void initialize(std::uint64_t seed);

  // `images`: batch x c x h x w, plain; `labels`: batch. Only the first `used` images count (the end of a
  // test set). Leaves the gradient of the logits ready for backward().
  LossResult forward(const float* images, const std::int32_t* labels, const Pass& pass, std::int64_t used);
  LossResult forward(const float* images, const std::int32_t* labels, const Pass& pass) {
    return forward(images, labels, pass, options_.batch);
  }
  // Called for each convolution and linear layer when its operands are complete and its weights not yet
  // changed.
  using Observer = std::function<void(const ConvLayer&)>;
  void backward(const Observer& observer = {});

  const Graph& graph() const { return graph_; }
  const NetworkOptions& options() const { return options_; }
  const std::vector<Parameter*>& parameters() { return parameters_; }
  // In the order of the graph.
  const std::vector<ConvLayer*>& conv_layers() { return conv_layers_; }
  std::vector<const ConvLayer*> conv_layers() const { return {conv_layers_.begin(), conv_layers_.end()}; }
  // Returns the output of a node, for tests. Nodes that run as one layer share that of the last (fuse.hpp).
  const Activation& activation(int node) const { return *activation_of_[static_cast<std::size_t>(node)]; }

 private:
  bool images_stay_plain() const;
  void plan_activations();
  void make_layers(const std::function<void(double)>& progress);
  std::unique_ptr<ConvLayer> make_product(std::size_t node, bool last);
  // Null where another node's layer does its work.
  std::unique_ptr<Layer> make_layer(std::size_t node) const;
  // Returns true if the ReLU behind a product sums the gradient of its bias while it masks it: not where
  // images are left out of the gradient afterwards.
  bool sums_bias(std::size_t product) const;
  Activation& input(const Node& node, std::size_t which) const {
    return *activation_of_[static_cast<std::size_t>(node.inputs[which])];
  }

  Graph graph_;
  NetworkOptions options_;
  Fusion fusion_;
  OperandRoom room_;
  std::vector<std::unique_ptr<Activation>> activations_;
  std::vector<Activation*> activation_of_;  // by node
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<ConvLayer*> conv_of_;  // by layer, null for other layers
  std::vector<ConvLayer*> conv_layers_;
  std::vector<Parameter*> parameters_;
  std::unique_ptr<GradientSum> sum_;
  std::unique_ptr<Loss> loss_;
};

}  // namespace lacuna::train
