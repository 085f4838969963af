#include "train/layers/memory_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/memory.hpp"
#include "kernels/bfloat16/bfloat16_conv.hpp"
#include "kernels/layout/blocked.hpp"
#include "kernels/onednn/onednn_conv.hpp"
#include "kernels/winograd/winograd_conv.hpp"
#include "train/graph/discarded.hpp"

namespace lacuna::train {
namespace {

constexpr double kFloat = sizeof(float);
constexpr double kGibibyte = 1 << 30;

double padded(std::int64_t channels) { return 16 * std::ceil(static_cast<double>(channels) / 16); }

// Counts the floats of one image, in blocks of 16 channels.
double floats(const SampleShape& shape) {
  return padded(shape.c) * static_cast<double>(shape.h) * static_cast<double>(shape.w);
}

const Node& input_of(const Graph& graph, const Node& node) {
  return graph.nodes[static_cast<std::size_t>(node.inputs[0])];
}

// As Network::plan_activations() allocates.
MemoryEstimate estimate_activations(const Graph& graph, double batch) {
  const Fusion fusion = fuse(graph);
  MemoryEstimate estimate;
  double largest = 0;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const double bytes = batch * floats(graph.nodes[static_cast<std::size_t>(i)].out) * kFloat;
    if (i > 0) largest = std::max(largest, bytes);
    if (fusion.own_output(i)) estimate.activations += bytes;
    if (fusion.own_output(i) && fusion.own_gradient(i)) estimate.gradients += bytes;
  }
  estimate.gradients += largest;  // of a second reader, before it is added
  return estimate;
}

// The plans of a convolution or linear layer (ConvLayer).
double product_workspace(const Graph& graph, const Node& node, const NetworkOptions& options) {
  const LayerShape shape = graph.layer_shape(node, options.batch);
  const bool initial = node.inputs[0] == 0;
  const bool blocked = kernels::fills_blocks(shape);
  const double plain = blocked ? 0 : static_cast<double>(shape.a_elements() + shape.g_elements()) * kFloat;
  const double weights =
      padded(shape.k) * padded(shape.c_per_group()) * static_cast<double>(shape.taps()) * kFloat;
  double bytes = plain;
  // oneDNN's order of the weights, and where tensors are plain its order of them, once per operation.
  if (options.kernels != Kernels::kSparse || initial)
    bytes += (initial ? 2 : options.kernels == Kernels::kAuto ? 4 : 3) * (weights + plain);
  // Packed weights and sums take the place of oneDNN's; in the other buffers are parts of a batch.
  if (options.precision == Precision::kBfloat16 && !initial)
    bytes +=
        kernels::bfloat16_buffer_bytes(shape, options.threads, options.kernels == Kernels::kAuto ? 2 : 1);
  if (options.kernels == Kernels::kDense || initial) return bytes;
  kernels::ConvOptions plan;
  plan.impl = kernels::Impl::kSparse;
  plan.layout = blocked ? kernels::Layout::kBlocked : kernels::Layout::kNchw;
  plan.threads = options.threads;
  for (const auto& [op, checked] : {std::pair{Operation::kForward, Operand::kA},
                                    {Operation::kInputGrad, Operand::kG},
                                    {Operation::kWeightGrad, Operand::kA},
                                    {Operation::kWeightGrad, Operand::kG}}) {
    plan.op = op;
    plan.checked = checked;
    plan.or_weights = options.pruned && op != Operation::kWeightGrad;
    plan.or_needed = op == Operation::kInputGrad && blocked && options.needed == NeededGradients::kAuto &&
                     discards_gradient_of_zeros(graph, node.inputs[0]);
    bytes += static_cast<double>(kernels::ConvPlan::workspace_bytes(shape, plan));
  }
  if (options.pruned) {
    plan.checked = Operand::kW;
    bytes += static_cast<double>(kernels::ConvPlan::workspace_bytes(shape, plan));
    // A tenth of the weights in three lists of 12 bytes each, and their gradients.
    bytes += static_cast<double>(shape.w_elements()) * kFloat;
  }
  return bytes;
}

double layer_workspace(const Graph& graph, const Node& node, const NetworkOptions& options) {
  const double values = static_cast<double>(options.batch) * floats(node.out);
  switch (node.kind) {
    case NodeKind::kConv:
    case NodeKind::kLinear:
      return product_workspace(graph, node, options);
    case NodeKind::kMaxPool:  // the position inside its window of each maximum
      return values * (node.kernel.h * node.kernel.w <= 256 ? 1 : kFloat);
    case NodeKind::kDropout:  // factors
    case NodeKind::kConcat:   // a plain copy, where parts do not fill blocks
      return values * kFloat;
    default:
      return 0;
  }
}

// The operands that the rules of sparse training replace: weights for each layer, activations and gradients
// for one layer at a time.
double operand_memory(const Graph& graph, const NetworkOptions& options) {
  double weights = 0, activations = 0, gradients = 0;
  const auto batch = static_cast<double>(options.batch);
  for (const Node& node : graph.nodes) {
    if (!is_product(node.kind)) continue;
    const OperandRule rule =
        operand_rule(options.sparsify, options.quantize_bits,
                     {.initial = node.inputs[0] == 0, .linear = node.kind == NodeKind::kLinear});
    if (rule.changes_weights()) weights += static_cast<double>(graph.layer_shape(node, 1).w_elements());
    if (rule.reuse) weights += GradientReuse::floats(graph.layer_shape(node, 1));
    if (rule.changes_activations())
      activations = std::max(activations, batch * floats(input_of(graph, node).out));
    if (rule.changes_gradients()) gradients = std::max(gradients, batch * floats(node.out));
  }
  return (weights + activations + gradients) * kFloat;
}

// Working memory of dense kernels for a layer, of the operation that needs most. oneDNN's Winograd keeps its
// operands transformed: 150 MB for ResNet-18 with 64 images of 224x224, 3.9 GB for one image of 2006x2006 and
// 64 channels.
double scratchpad(const Graph& graph, const Node& node, const NetworkOptions& options) {
  if (!is_product(node.kind)) return 0;
  using Algorithm = kernels::OneDnnAlgorithm;
  const LayerShape shape = graph.layer_shape(node, options.batch);
  const bool initial = node.inputs[0] == 0;
  std::vector<Algorithm> candidates = {Algorithm::kDirect};
  if (options.kernels == Kernels::kSparse && !initial) return 0;
  if (options.kernels == Kernels::kAuto && !initial && options.allow_winograd)
    candidates.push_back(Algorithm::kWinograd);
  const bool blocked = kernels::fills_blocks(shape);
  kernels::ConvOptions plan;
  plan.layout = blocked ? kernels::Layout::kBlocked : kernels::Layout::kNchw;
  plan.threads = options.threads;
  std::size_t most = 0;
  for (const Operation op : kOperations) {
    if (initial && op == Operation::kInputGrad) continue;
    plan.op = op;
    for (const Algorithm algorithm : candidates)
      most = std::max(most, kernels::onednn_scratchpad_bytes(algorithm, shape, plan));
    if (candidates.size() > 1) most = std::max(most, kernels::winograd_scratchpad_bytes(shape, plan));
  }
  return static_cast<double>(most);
}

// Kernels of shapes that are new to this machine are measured on separate tensors, one layer at a time.
double measuring(const Graph& graph, const Node& node, const NetworkOptions& options) {
  if (options.kernels != Kernels::kAuto || !is_product(node.kind) || node.inputs[0] == 0) return 0;
  return static_cast<double>(options.batch) * (floats(node.out) + floats(input_of(graph, node).out)) * kFloat;
}

std::string gibibytes(double bytes) { return fmt::format("{:.3g}", bytes / kGibibyte); }

[[noreturn]] void refuse(const Graph& graph, const NetworkOptions& options, const MemoryEstimate& needed,
                         double limit) {
  // The largest batch that fits: memory grows with the batch, except for the weights.
  const double per_image = (needed.total() - needed.weights) / static_cast<double>(options.batch);
  const double images = std::floor((limit - needed.weights) / per_image);
  auto batch = static_cast<std::int64_t>(std::clamp(images, 0.0, static_cast<double>(options.batch - 1)));
  const auto fits = [&](std::int64_t n) {
    NetworkOptions smaller = options;
    smaller.batch = n;
    return estimate_activations(graph, static_cast<double>(n)).total() <= limit &&
           estimate_memory(graph, smaller).total() <= limit;
  };
  while (batch > 0 && !fits(batch)) batch /= 2;
  const Node& largest = *std::ranges::max_element(
      graph.nodes, {}, [](const Node& node) { return static_cast<double>(floats(node.out)); });
  // If activations alone are too much, the rest is not counted.
  const std::string rest =
      needed.workspace > 0
          ? fmt::format(", weights {}, workspace {}", gibibytes(needed.weights), gibibytes(needed.workspace))
          : std::string();
  throw InputError(
      graph.model,
      fmt::format(
          "training it with a batch of {} needs {}{} GiB of memory, this process may use {} (activations "
          "{}, gradients {}{}; the largest output, of '{}', is {}x{}x{})",
          options.batch, rest.empty() ? "at least " : "", gibibytes(needed.total()), gibibytes(limit),
          gibibytes(needed.activations), gibibytes(needed.gradients), rest, largest.name, largest.out.c,
          largest.out.h, largest.out.w),
      batch > 0 ? fmt::format("use a batch of at most {} (--batch), or smaller images (--size)", batch)
                : std::string("use smaller images (--size), fewer channels or less padding; no batch fits"));
}

}  // namespace

MemoryEstimate estimate_memory(const Graph& graph, const NetworkOptions& options) {
  MemoryEstimate estimate = estimate_activations(graph, static_cast<double>(options.batch));
  estimate.weights = (2.0 + options.optimizer_states) * static_cast<double>(graph.parameters()) * kFloat;
  estimate.workspace =
      static_cast<double>(options.batch) * static_cast<double>(graph.input.size()) * kFloat;  // images
  double transient = 0, working = 0;
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    estimate.workspace += layer_workspace(graph, graph.nodes[i], options);
    transient = std::max(transient, measuring(graph, graph.nodes[i], options));
    working = std::max(working, scratchpad(graph, graph.nodes[i], options));
  }
  estimate.workspace += transient + working + operand_memory(graph, options);
  return estimate;
}

NetworkOptions fit_memory(const Graph& graph, const NetworkOptions& options, double limit) {
  NetworkOptions least = options;
  least.allow_winograd = false;
  // Shapes that are far too large do not reach the kernels, which count in 64 bits.
  const MemoryEstimate activations = estimate_activations(graph, static_cast<double>(options.batch));
  if (activations.total() > limit) refuse(graph, least, activations, limit);
  if (estimate_memory(graph, options).total() <= limit) return options;
  const MemoryEstimate all = estimate_memory(graph, least);
  if (all.total() > limit) refuse(graph, least, all, limit);
  return least;
}

double memory_limit() { return static_cast<double>(memory_budget()); }

}  // namespace lacuna::train
