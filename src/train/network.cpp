#include "train/network.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "kernels/blocked.hpp"
#include "train/layers/layers.hpp"
#include "train/memory_estimate.hpp"

namespace lacuna::train {
namespace {

bool is_product(const Node& node) { return node.kind == NodeKind::kConv || node.kind == NodeKind::kLinear; }

std::size_t last_product(const Graph& graph) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < graph.nodes.size(); ++i)
    if (is_product(graph.nodes[i])) last = i;
  return last;
}

// Box-Muller: two normal numbers from two uniform ones.
float normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * random.uniform()));
}

}  // namespace

Network::Network(Graph graph, const NetworkOptions& options, const std::function<void(double)>& progress)
    : graph_(std::move(graph)), options_(options) {
  check_memory(graph_, options_, memory_limit());
  plan_activations();
  make_layers(progress);
}

bool Network::fused_relu(int node) const { return relu_of_[static_cast<std::size_t>(node)] != 0; }

bool Network::images_stay_plain() const {
  return graph_.input.c <= 3 && std::ranges::all_of(graph_.nodes, [](const Node& node) {
           const bool reads_images = std::ranges::find(node.inputs, 0) != node.inputs.end();
           return !reads_images || (node.kind == NodeKind::kConv && node.groups == 1);
         });
}

void Network::plan_activations() {
  const std::size_t nodes = graph_.nodes.size();
  readers_.assign(nodes, 0);
  relu_of_.assign(nodes, 0);
  for (const Node& node : graph_.nodes)
    for (const int input : node.inputs) ++readers_[static_cast<std::size_t>(input)];
  // A ReLU that is the only reader of its input runs in place. No layer that it may follow needs its own
  // output for its gradient: a max pool keeps positions, dropout its factors, and a second ReLU changes
  // nothing.
  for (std::size_t i = 0; i < nodes; ++i) {
    if (graph_.nodes[i].kind != NodeKind::kRelu) continue;
    const auto input = static_cast<std::size_t>(graph_.nodes[i].inputs[0]);
    if (graph_.nodes[input].kind != NodeKind::kInput && graph_.nodes[input].kind != NodeKind::kRelu &&
        readers_[input] == 1)
      relu_of_[input] = static_cast<int>(i);
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    const Node& node = graph_.nodes[i];
    if (node.kind == NodeKind::kRelu &&
        relu_of_[static_cast<std::size_t>(node.inputs[0])] == static_cast<int>(i)) {
      Activation* shared = activation_of_[static_cast<std::size_t>(node.inputs[0])];
      shared->readers = readers_[i];
      activation_of_.push_back(shared);
      continue;
    }
    auto made = std::make_unique<Activation>();
    made->n = options_.batch;
    made->shape = node.out;
    made->readers = readers_[i];
    if (i == 0 && images_stay_plain()) made->layout = kernels::Layout::kNchw;
    made->data = AlignedFloats(made->floats());
    activation_of_.push_back(made.get());
    activations_.push_back(std::move(made));
  }
  // The gradient of a sum is the gradient of its parts: those that nobody else reads and that no ReLU changes
  // in place share its memory. Sums come after their parts, so this goes backwards.
  std::int64_t largest = 0;
  for (std::size_t i = nodes; i-- > 1;) {
    const Node& node = graph_.nodes[i];
    Activation& out = *activation_of_[i];
    if (out.grad == nullptr) {
      out.own_grad = AlignedFloats(out.floats());
      out.grad = out.own_grad.data();
    }
    largest = std::max(largest, out.floats());
    if (node.kind != NodeKind::kAdd || node.inputs[0] == node.inputs[1]) continue;
    for (const int input : node.inputs) {
      const auto at = static_cast<std::size_t>(input);
      const bool changed_in_place = graph_.nodes[at].kind == NodeKind::kRelu;
      if (input != 0 && readers_[at] == 1 && !changed_in_place) activation_of_[at]->grad = out.grad;
    }
  }
  sum_ = std::make_unique<GradientSum>(largest, options_.threads);
}

void Network::make_layers(const std::function<void(double)>& progress) {
  const int threads = options_.threads;
  const std::size_t last = last_product(graph_);
  for (std::size_t i = 1; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    std::vector<Activation*> in;
    for (const int input : node.inputs) in.push_back(activation_of_[static_cast<std::size_t>(input)]);
    Activation& out = *activation_of_[i];
    ConvLayer* conv = nullptr;
    const bool relu_follows = fused_relu(static_cast<int>(i));
    switch (node.kind) {
      case NodeKind::kConv:
      case NodeKind::kLinear: {
        // Flattened images are still images: their gradient is not needed.
        const Node& before = graph_.nodes[static_cast<std::size_t>(node.inputs[0])];
        const bool initial =
            node.inputs[0] == 0 || (before.kind == NodeKind::kFlatten && before.inputs[0] == 0);
        const OperandRule rule =
            operand_rule(options_.sparsify, options_.quantize_bits,
                         {.initial = initial, .last = i == last, .linear = node.kind == NodeKind::kLinear});
        make_room(rule, *in[0], out);
        auto layer = std::make_unique<ConvLayer>(
            node, graph_.layer_shape(node, options_.batch), *in[0], out,
            ConvLayerOptions{options_.kernels, initial, relu_follows, threads, rule, &room_});
        conv = layer.get();
        layers_.push_back(std::move(layer));
        break;
      }
      case NodeKind::kBatchNorm:
        layers_.push_back(make_batch_norm(node, *in[0], out, relu_follows, threads));
        break;
      case NodeKind::kRelu: {
        const Node& before = graph_.nodes[static_cast<std::size_t>(node.inputs[0])];
        const bool in_place = in[0] == &out;
        if (in_place && before.kind == NodeKind::kBatchNorm) continue;  // part of the norm
        layers_.push_back(make_relu(*in[0], out, in_place && is_product(before), threads));
        break;
      }
      case NodeKind::kMaxPool:
      case NodeKind::kAveragePool:
        layers_.push_back(make_pool(node, *in[0], out, threads));
        break;
      case NodeKind::kAdd:
        layers_.push_back(make_add(in, out, threads));
        break;
      case NodeKind::kConcat:
        layers_.push_back(make_concat(in, out, threads));
        break;
      case NodeKind::kFlatten:
        layers_.push_back(make_flatten(*in[0], out, threads));
        break;
      case NodeKind::kDropout:
        layers_.push_back(make_dropout(node, *in[0], out, threads));
        break;
      case NodeKind::kScalarBias:
      case NodeKind::kScalarScale:
        layers_.push_back(make_scalar(node, *in[0], out, threads));
        break;
      case NodeKind::kInput:
        continue;
    }
    conv_of_.push_back(conv);
    if (conv != nullptr) conv_layers_.push_back(conv);
    for (Parameter* parameter : layers_.back()->parameters()) parameters_.push_back(parameter);
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(graph_.nodes.size()));
  }
  loss_ = std::make_unique<Loss>(*activation_of_.back(), threads);
}

void Network::make_room(const OperandRule& rule, const Activation& in, const Activation& out) {
  if (rule.changes_activations() && room_.activations.size() < in.floats())
    room_.activations = AlignedFloats(in.floats());
  if (rule.changes_gradients() && room_.gradients.size() < out.floats())
    room_.gradients = AlignedFloats(out.floats());
}

void Network::initialize(std::uint64_t seed) {
  for (Parameter* parameter : parameters_)
    if (parameter->kind == Parameter::Kind::kState)
      std::fill_n(parameter->value.data(), parameter->value.size(), 0.0F);
  for (const Node& node : graph_.nodes) {
    if (!is_product(node)) continue;
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
