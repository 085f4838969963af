#include "train/layers/network.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "kernels/layout/blocked.hpp"
#include "train/layers/layers.hpp"
#include "train/layers/memory_estimate.hpp"

namespace lacuna::train {
namespace {

MakeLayer make_layer(NodeKind kind) { return std::ranges::find(kLayerMakers, kind, &LayerMaker::kind)->make; }

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
  const int threads = options_.threads;
  const std::size_t last = last_product(graph_);
  for (std::size_t i = 1; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    std::vector<Activation*> in;
    for (const int input : node.inputs) in.push_back(activation_of_[static_cast<std::size_t>(input)]);
    Activation& out = *activation_of_[i];
    ConvLayer* conv = nullptr;
    const bool relu_follows = fusion_.relu[i] != 0;
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
            ConvLayerOptions{options_.kernels, initial, relu_follows, sums_bias(i), threads, rule, &room_,
                             options_.pruned || rule.weights, options_.precision == Precision::kBfloat16,
                             options_.allow_winograd});
        conv = layer.get();
        layers_.push_back(std::move(layer));
        break;
      }
      case NodeKind::kBatchNorm:
        if (fusion_.part_of_sum(graph_, static_cast<int>(i))) continue;
        layers_.push_back(make_batch_norm(node, *in[0], nullptr, out, relu_follows, threads));
        break;
      case NodeKind::kRelu: {
        const Node& before = graph_.nodes[static_cast<std::size_t>(node.inputs[0])];
        const bool in_place = in[0] == &out;
        const bool in_norm = before.kind == NodeKind::kBatchNorm ||
                             fusion_.norm[static_cast<std::size_t>(node.inputs[0])] != 0;
        if (in_place && in_norm) continue;
        layers_.push_back(make_relu(*in[0], out, relu_options(i), threads));
        break;
      }
      case NodeKind::kMaxPool:
      case NodeKind::kAveragePool:
        layers_.push_back(make_pool(
            node, *in[0], out,
            fusion_.pooled_by[static_cast<std::size_t>(node.inputs[0])] == static_cast<int>(i), threads));
        break;
      case NodeKind::kAdd:
        layers_.push_back(fusion_.norm[i] != 0 ? make_norm_with_sum(i) : make_add({node, in, out, threads}));
        break;
      default:
        layers_.push_back(make_layer(node.kind)({node, in, out, threads}));
    }
    conv_of_.push_back(conv);
    if (conv != nullptr) conv_layers_.push_back(conv);
    for (Parameter* parameter : layers_.back()->parameters()) parameters_.push_back(parameter);
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(graph_.nodes.size()));
  }
  loss_ = std::make_unique<Loss>(*activation_of_.back(), threads);
}

// Returns the options of a ReLU; the layers before it exist already.
ReluOptions Network::relu_options(std::size_t relu) const {
  const auto before = static_cast<std::size_t>(graph_.nodes[relu].inputs[0]);
  if (fusion_.relu[before] != static_cast<int>(relu)) return {};
  ReluOptions options;
  options.forward_done = is_product(graph_.nodes[before].kind);
  options.backward_done = fusion_.pooled_by[relu] != 0;
  if (sums_bias(before)) options.bias_grad = conv_layers_.back()->bias()->grad.data();
  return options;
}

bool Network::sums_bias(std::size_t product) const {
  const auto relu = static_cast<std::size_t>(fusion_.relu[product]);
  const Node& node = graph_.nodes[product];
  return is_product(node.kind) && node.bias && relu == product + 1 && fusion_.pooled_by[relu] == 0 &&
         options_.learnt_samples == 1;
}

std::unique_ptr<Layer> Network::make_norm_with_sum(std::size_t sum) {
  const int norm = fusion_.norm[sum];
  const Node& node = graph_.nodes[static_cast<std::size_t>(norm)];
  const std::vector<int>& parts = graph_.nodes[sum].inputs;
  const auto other = static_cast<std::size_t>(parts[0] == norm ? parts[1] : parts[0]);
  return make_batch_norm(node, *activation_of_[static_cast<std::size_t>(node.inputs[0])],
                         activation_of_[other], *activation_of_[sum], fusion_.relu[sum] != 0,
                         options_.threads);
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
