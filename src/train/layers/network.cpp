#include "train/layers/network.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "kernels/layout/blocked.hpp"
#include "train/graph/discarded.hpp"
#include "train/layers/layers.hpp"
#include "train/layers/memory_estimate.hpp"

namespace lacuna::train {
namespace {

std::size_t last_product(const Graph& graph) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < graph.nodes.size(); ++i)
    if (is_product(graph.nodes[i].kind)) last = i;
  return last;
}

// Box-Muller: two normal numbers from two uniform ones.
float normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * random.uniform()));
}

}  // namespace

Network::Network(Graph graph, const NetworkOptions& options, const std::function<void(double)>& progress)
    : graph_(std::move(graph)), options_(options), fusion_(fuse(graph_)) {
  options_ = fit_memory(graph_, options_, memory_limit());
  plan_activations();
  make_layers(progress);
}

bool Network::images_stay_plain() const {
  return graph_.input.c <= 3 && std::ranges::all_of(graph_.nodes, [](const Node& node) {
           const bool reads_images = std::ranges::find(node.inputs, 0) != node.inputs.end();
           return !reads_images || (node.kind == NodeKind::kConv && node.groups == 1);
         });
}

void Network::plan_activations() {
  const auto nodes = static_cast<int>(graph_.nodes.size());
  const auto at = [](int node) { return static_cast<std::size_t>(node); };
  activation_of_.assign(at(nodes), nullptr);
  std::int64_t largest = 0;
  for (int i = 0; i < nodes; ++i) {
    if (!fusion_.own_output(i)) continue;
    auto made = std::make_unique<Activation>();
    made->n = options_.batch;
    made->shape = graph_.nodes[at(i)].out;
    made->readers = fusion_.readers_of_output(i);
    made->adds_late = graph_.nodes[at(i)].kind == NodeKind::kBatchNorm || fusion_.norm[at(i)] != 0;
    if (i == 0 && images_stay_plain()) made->layout = kernels::Layout::kNchw;
    made->data = AlignedFloats(made->floats());
    if (fusion_.own_gradient(i)) made->own_grad = AlignedFloats(made->floats());
    if (i > 0) largest = std::max(largest, made->floats());
    activation_of_[at(i)] = made.get();
    activations_.push_back(std::move(made));
  }
  for (int i = 1; i < nodes; ++i) {
    activation_of_[at(i)] = activation_of_[at(fusion_.output_of[at(i)])];
    activation_of_[at(i)]->grad = activation_of_[at(fusion_.gradient_of[at(i)])]->own_grad.data();
  }
  sum_ = std::make_unique<GradientSum>(largest, options_.threads);
}

void Network::make_layers(const std::function<void(double)>& progress) {
  const std::size_t last = last_product(graph_);
  for (std::size_t i = 1; i < graph_.nodes.size(); ++i) {
    ConvLayer* conv = nullptr;
    if (is_product(graph_.nodes[i].kind)) {
      auto layer = make_product(i, i == last);
      conv = layer.get();
      conv_layers_.push_back(conv);
      layers_.push_back(std::move(layer));
    } else if (auto layer = make_layer(i)) {
      layers_.push_back(std::move(layer));
    } else {
      continue;
    }
    conv_of_.push_back(conv);
    for (Parameter* parameter : layers_.back()->parameters()) parameters_.push_back(parameter);
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(graph_.nodes.size()));
  }
  loss_ = std::make_unique<Loss>(*activation_of_.back(), options_.threads);
}

std::unique_ptr<ConvLayer> Network::make_product(std::size_t i, bool last) {
  const Node& node = graph_.nodes[i];
  Activation& in = input(node, 0);
  Activation& out = *activation_of_[i];
  // Flattened images are still images: their gradient is not needed.
  const Node& before = graph_.nodes[static_cast<std::size_t>(node.inputs[0])];
  const bool initial = node.inputs[0] == 0 || (before.kind == NodeKind::kFlatten && before.inputs[0] == 0);
  const OperandRule rule =
      operand_rule(options_.sparsify, options_.quantize_bits,
                   {.initial = initial, .last = last, .linear = node.kind == NodeKind::kLinear});
  if (rule.changes_activations() && room_.activations.size() < in.floats())
    room_.activations = AlignedFloats(in.floats());
  if (rule.changes_gradients() && room_.gradients.size() < out.floats())
    room_.gradients = AlignedFloats(out.floats());
  return std::make_unique<ConvLayer>(
      node, graph_.layer_shape(node, options_.batch), in, out,
      ConvLayerOptions{
          options_.kernels, initial, fusion_.relu[i] != 0, sums_bias(i), options_.threads, rule, &room_,
          options_.pruned || rule.weights, options_.precision == Precision::kBfloat16,
          options_.allow_winograd,
          options_.needed == NeededGradients::kAuto && discards_gradient_of_zeros(graph_, node.inputs[0])});
}

std::unique_ptr<Layer> Network::make_layer(std::size_t i) const {
  const Node* node = &graph_.nodes[i];
  const auto first = static_cast<std::size_t>(node->inputs[0]);
  std::vector<Activation*> in;
  for (const int input : node->inputs) in.push_back(activation_of_[static_cast<std::size_t>(input)]);
  if (node->kind == NodeKind::kBatchNorm && fusion_.part_of_sum(graph_, static_cast<int>(i))) return nullptr;
  if (const int norm = fusion_.norm[i]; norm != 0) {  // a sum that the norm computes
    Activation* other = in[node->inputs[0] == norm ? 1 : 0];
    node = &graph_.nodes[static_cast<std::size_t>(norm)];
    in = {&input(*node, 0), other};
  }
  LayerParts parts{*node, in, *activation_of_[i], options_.threads};
  parts.relu_follows = fusion_.relu[i] != 0;
  parts.relu_before = fusion_.pooled_by[first] == static_cast<int>(i);
  if (node->kind == NodeKind::kRelu && fusion_.relu[first] == static_cast<int>(i)) {
    // In place, on a layer that exists already.
    if (graph_.nodes[first].kind == NodeKind::kBatchNorm || fusion_.norm[first] != 0) return nullptr;
    parts.forward_done = is_product(graph_.nodes[first].kind);
    parts.backward_done = fusion_.pooled_by[i] != 0;
    if (sums_bias(first)) parts.bias_grad = conv_layers_.back()->bias()->grad.data();
  }
  return std::ranges::find(kLayerMakers, node->kind, &LayerMaker::kind)->make(parts);
}

bool Network::sums_bias(std::size_t product) const {
  const auto relu = static_cast<std::size_t>(fusion_.relu[product]);
  const Node& node = graph_.nodes[product];
  return is_product(node.kind) && node.bias && relu == product + 1 && fusion_.pooled_by[relu] == 0 &&
         options_.learnt_samples == 1;
}

void Network::initialize(std::uint64_t seed) {
  for (Parameter* parameter : parameters_)
    if (parameter->kind == Parameter::Kind::kState)
      std::fill_n(parameter->value.data(), parameter->value.size(), 0.0F);
  for (const Node& node : graph_.nodes) {
    if (!is_product(node.kind)) continue;
    const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const Parameter* p) { return p->name == node.name + ".weight"; });
    AlignedFloats& weights = (*found)->value;
    const LayerShape shape = graph_.layer_shape(node, 1);
    const auto fan_in = static_cast<double>(shape.c_per_group() * shape.taps());
    const auto fan_out = static_cast<double>(shape.k * shape.taps());
    Random random(seed ^ hash_text((*found)->name));
    random.bits();
    const double deviation = std::sqrt(2 / (node.init == Init::kHeOut ? fan_out : fan_in));
    const double bound = std::sqrt(1 / fan_in);
    for (std::int64_t i = 0; i < weights.size(); ++i) {
      const double drawn = node.init == Init::kZero  ? 0
                           : node.init == Init::kFan ? bound * (2 * random.uniform() - 1)
                                                     : deviation * static_cast<double>(normal(random));
      weights[i] = static_cast<float>(node.gain * drawn);
    }
  }
}

LossResult Network::forward(const float* images, const std::int32_t* labels, const Pass& pass,
                            std::int64_t used) {
  const SampleShape& in = graph_.input;
  Activation& first = *activation_of_[0];
  if (first.blocked())
    kernels::to_blocked({options_.batch, 1, in.c, in.h, in.w}, kernels::Layout::kNchw, images,
                        first.data.data(), options_.threads);
  else
    std::copy_n(images, first.floats(), first.data.data());
  for (const auto& layer : layers_) layer->forward(pass);
  return loss_->run(labels, used, {pass.training ? options_.learnt_samples : 1, pass.seed});
}

void Network::backward(const Observer& observer) {
  for (const auto& activation : activations_) activation->pending = activation->readers;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (conv_of_[i] != nullptr) {
      conv_of_[i]->clear_gradients(loss_->left_out());
      conv_of_[i]->prepare_backward();
      if (observer) observer(*conv_of_[i]);
    }
    layers_[i]->backward(*sum_);
  }
}

}  // namespace lacuna::train
