#include "bench/layers/layers_plan.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/cpu.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "kernels/bfloat16/bfloat16_conv.hpp"
#include "kernels/conv_kernel.hpp"
#include "kernels/sparsetrain/sparsetrain_conv.hpp"

namespace lacuna::bench {
namespace {

using kernels::Impl;
using kernels::Layout;
using kernels::WeightLayout;

Operation parse_op(const std::string& name) {
  const auto* op = std::ranges::find(kOperations, name, operation_name);
  if (op != kOperations.end()) return *op;
  throw InputError("--op", fmt::format("unknown operation '{}'", name),
                   "use forward, input_grad or weight_grad");
}

Layout parse_layout(const std::string& name) {
  return name == "nchw" ? Layout::kNchw : name == "nhwc" ? Layout::kNhwc : Layout::kBlocked;
}

// Fills in what was left open and checks what goes together.
void complete(LayersSpec& spec) {
  spec.threads = resolve_threads(spec.threads);
  if (spec.shapes.empty() && spec.traces.empty()) spec.shapes = {"vgg16", "resnet50"};
  if (spec.impl.empty()) spec.impl = spec.traces.empty() ? "sparse" : "auto";
  if (spec.zeros_in.empty()) spec.zeros_in = !spec.traces.empty() && spec.impl == "auto" ? "both" : "data";
  for (double& zeros : spec.zeros) {
    if (!(zeros >= 0 && zeros <= 100))
      throw InputError("--zeros", fmt::format("{} is not a percentage", zeros), "give 0 to 100");
    zeros /= 100;
  }
  if (spec.beside_blocked && spec.layout == "blocked")
    throw InputError("--beside-blocked", "the tensors are blocked already", "give --layout nhwc or nchw");
  check_precision(spec.precision);
  if (spec.precision == "bfloat16")
    for (const auto& [given, option] : {std::pair(spec.layout == "nchw", "--layout nchw"),
                                        std::pair(spec.zeros_in == "weights", "--zeros-in weights"),
                                        std::pair(spec.impl == "sparsetrain", "--impl sparsetrain")})
      if (given)
        throw InputError("--precision bfloat16", fmt::format("it does not go with {}", option),
                         fmt::format("leave out {}", option));
  if (spec.impl == "sparsetrain" && spec.zeros_in == "weights")
    throw InputError("--impl sparsetrain", "its authors' kernels do not skip zero weights",
                     "leave out --zeros-in weights");
  if (spec.zeros_in == "both" && spec.traces.empty())
    throw InputError("--zeros-in both", "only a trace has zeros on both sides", "give one, with --trace");
}

bool is_left_out(const NetworkLayer& layer, const LayersSpec& spec) {
  if (spec.impl != "sparsetrain") return false;
  const std::string refusal = kernels::sparsetrain_refusal(layer.shape, best_isa());
  if (refusal.find("AVX-512") != std::string::npos)
    throw InputError("--impl sparsetrain", "it needs a CPU with AVX-512", "use --impl sparse");
  return layer.initial || !refusal.empty();
}

// Returns whether the implementation can do this; auto and sparse choose among those that can.
bool can_run(const kernels::MeasureSpec& measured) {
  const kernels::ConvImplementation* implementation = find_implementation(measured.options.impl);
  return implementation == nullptr ||
         try_make(*implementation, kernels::KernelConfig(measured.shape, measured.options)) != nullptr;
}

// weight_grad may check either operand: the one with more zeros where a trace is given.
std::optional<Operand> better_operand(const NetworkLayer& layer, Operation op, const LayersSpec& spec) {
  if (spec.zeros_in == "weights") return Operand::kW;
  if (spec.zeros_in == "input" && op == Operation::kInputGrad) return Operand::kA;
  if (op != Operation::kWeightGrad || layer.traced == nullptr) return std::nullopt;
  return layer.traced->g.zero_share() > layer.traced->a.zero_share() ? Operand::kG : Operand::kA;
}

// A trained network has hardly any zero weights: one that is not pruned is treated as if it had none.
bool is_pruned(const NetworkLayer& layer) {
  return layer.traced != nullptr && layer.traced->w.zero_share() > 0.2;
}

// Rounds the operands to bfloat16, and times single precision as well.
void use_bfloat16(kernels::MeasureSpec& measured) {
  // Images and grouped layers stay in single precision.
  if (measured.shape.c <= 3 || measured.shape.groups > 1) return;
  if (measured.options.impl != Impl::kAuto) measured.options.impl = Impl::kBfloat16;
  measured.options.allow_bfloat16 = true;
  measured.rivals.emplace_back("float32");
}

// Places zeros as the trace has them.
void use_traced_zeros(kernels::MeasureSpec& measured, const Job& job) {
  const Layer& traced = *job.layer->traced;
  const bool in_weights = job.checked == Operand::kW;
  if (in_weights || job.either_side)
    measured.nonzero_weight = [mask = traced.w.mask, taps = measured.shape.taps()](
                                  std::int64_t k, std::int64_t c, std::int64_t tap) {
      return mask.bit(k * taps + tap, c);
    };
  if (in_weights) return;
  const bool activations = job.op == Operation::kForward || job.checked == Operand::kA;
  const MaskView mask = activations ? traced.a.mask : traced.g.mask;
  const std::int64_t samples = traced.shape.n;
  const std::int64_t pixels = mask.rows / samples;
  measured.nonzero = [=](std::int64_t image, std::int64_t channel, std::int64_t pixel) {
    return mask.bit(image % samples * pixels + pixel, channel);
  };
}

}  // namespace

Impl impl_of(const LayersSpec& spec) {
  if (spec.impl == "sparsetrain") return Impl::kSparse;  // SparseTrain's algorithm is timed next to it
  const std::optional<Impl> impl = kernels::impl_named(spec.impl);
  if (!impl) throw InputError("--impl", fmt::format("unknown implementation '{}'", spec.impl), "see --help");
  return *impl;
}

bool is_part_grouped(const LayerShape& shape) {
  return shape.groups > 1 && (shape.c_per_group() % 16 != 0 || shape.k_per_group() % 16 != 0);
}

void check_precision(const std::string& precision) {
  if (precision == "bfloat16") kernels::require_bfloat16("--precision bfloat16");
}

kernels::MeasureSpec measure_spec(const LayersSpec& spec, const Baselines& baselines, const Job& job,
                                  Impl impl) {
  const LayerShape& shape = job.layer->shape;
  kernels::MeasureSpec measured;
  measured.shape = shape;
  kernels::ConvOptions& options = measured.options;
  options.op = job.op;
  options.checked = job.checked;
  options.impl = is_part_grouped(shape) ? Impl::kAuto : impl;
  options.threads = spec.threads;
  options.layout = parse_layout(spec.layout);
  // Loaders deliver plain images, and oneDNN's first layers read them as such.
  if (shape.c <= 3 && options.layout == Layout::kBlocked) options.src_layout = Layout::kNchw;
  const bool keeps_gradients =
      (job.checked == Operand::kW || job.either_side) && job.op == Operation::kWeightGrad;
  options.weights = (spec.layout == "blocked" || spec.beside_blocked) && !keeps_gradients
                        ? WeightLayout::kPacked
                        : WeightLayout::kOihw;
  options.allow_winograd = !spec.exact;
  options.or_weights = job.either_side;
  measured.min_rounds = spec.rounds;
  measured.seconds = spec.seconds;
  if (spec.with_auto) measured.rivals.emplace_back(impl_name(Impl::kDenseAuto));
  measured.rivals.insert(measured.rivals.end(), baselines.more.begin(), baselines.more.end());
  if (spec.impl == "sparsetrain") measured.rivals.emplace_back("sparsetrain");
  if (spec.beside_blocked) measured.rivals.emplace_back("blocked");
  measured.zeros = job.zeros;
  // The least of several noisy ratios is too small: close cases are timed longer.
  if (baselines.best) measured.close_error = 0.005;
  measured.close_seconds = std::max(0.15, 5 * spec.seconds);
  if (spec.precision == "bfloat16") use_bfloat16(measured);
  if (job.layer->traced != nullptr) use_traced_zeros(measured, job);
  // The reference takes plain weights alone.
  if (options.weights == WeightLayout::kPacked && !can_run(measured)) options.weights = WeightLayout::kOihw;
  return measured;
}

LayersPlan plan_layers(LayersSpec given) {
  complete(given);
  LayersPlan plan;
  plan.spec = std::move(given);
  const LayersSpec& spec = plan.spec;
  plan.baselines = parse_baselines(spec.baselines);
  for (const std::string& name : spec.shapes) plan.networks.push_back(read_shapes(name, spec.batch));
  for (const std::string& path : spec.traces) plan.networks.push_back(network_of_trace(path, spec.batch));
  std::vector<Operation> ops;
  for (const std::string& name : spec.ops) ops.push_back(parse_op(name));
  for (const Network& network : plan.networks)
    for (const NetworkLayer& layer : network.layers) {
      if (layer.name.find(spec.layer) == std::string::npos) continue;
      if (is_left_out(layer, spec)) {
        plan.left_out.push_back(network.name + " " + layer.name);
        continue;
      }
      for (const Operation op : ops) {
        if (layer.initial && op == Operation::kInputGrad) continue;  // nobody needs gradients of images
        Job job{&network, &layer, op, better_operand(layer, op, spec), spec.zeros};
        if (layer.traced != nullptr) job.zeros.clear();
        job.either_side = spec.zeros_in == "both" && is_pruned(layer) && !layer.initial;
        if (can_run(measure_spec(spec, plan.baselines, job, impl_of(spec))))
          plan.jobs.push_back(std::move(job));
        else
          plan.left_out.push_back(fmt::format("{} {}", job.name(), operation_name(op)));
      }
    }
  if (plan.jobs.empty() && !plan.left_out.empty())
    throw InputError("--impl " + spec.impl, "none of the layers is one that it can do",
                     spec.impl == "sparsetrain" ? "see docs/models/sparsetrain.md for what it covers"
                                                : "use another implementation or --layout");
  if (plan.jobs.empty())
    throw InputError("--layer", fmt::format("no layer name contains '{}'", spec.layer),
                     "give part of a layer name");
  return plan;
}

}  // namespace lacuna::bench
