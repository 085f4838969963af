#include "cli/commands/bench_jobs.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/cpu.hpp"
#include "base/error.hpp"
#include "cli/commands/bench_baselines.hpp"
#include "cli/commands/bench_precision.hpp"
#include "cli/commands/bench_training.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "kernels/sparsetrain/sparsetrain_conv.hpp"

namespace lacuna::cli {
namespace {

using kernels::Impl;
using kernels::Layout;
using kernels::WeightLayout;

Operation parse_op(const std::string& name) {
  for (const Operation op : kOperations)
    if (name == operation_name(op)) return op;
  throw InputError("--op", fmt::format("unknown operation '{}'", name),
                   "use forward, input_grad or weight_grad");
}

// weight_grad may check either operand: the one with more zeros where a trace is given.
std::optional<Operand> better_operand(const BenchLayer& layer, Operation op, const BenchOptions& options) {
  if (options.zeros_in == "weights") return Operand::kW;
  if (op != Operation::kWeightGrad || layer.traced == nullptr) return std::nullopt;
  return layer.traced->g.zero_share() > layer.traced->a.zero_share() ? Operand::kG : Operand::kA;
}

// A trained network has hardly any zero weights: what is not pruned takes part as if there were none.
bool is_pruned(const BenchLayer& layer) {
  return layer.traced != nullptr && layer.traced->w.zero_share() > 0.2;
}

}  // namespace

bool is_part_grouped(const LayerShape& shape) {
  return shape.groups > 1 && (shape.c_per_group() % 16 != 0 || shape.k_per_group() % 16 != 0);
}

kernels::MeasureSpec spec_of(const BenchJob& job, const BenchOptions& options, Impl impl) {
  kernels::MeasureSpec spec;
  spec.shape = job.layer->shape;
  spec.options.op = job.op;
  spec.options.checked = job.checked;
  const LayerShape& shape = job.layer->shape;
  spec.options.impl = is_part_grouped(shape) ? Impl::kAuto : impl;
  spec.options.threads = options.threads;
  spec.options.layout = options.layout == "nchw"   ? Layout::kNchw
                        : options.layout == "nhwc" ? Layout::kNhwc
                                                   : Layout::kBlocked;
  // Loaders deliver plain images, and oneDNN's first layers read them as such.
  if (job.layer->shape.c <= 3 && spec.options.layout == Layout::kBlocked)
    spec.options.src_layout = Layout::kNchw;
  const bool in_weights = job.checked == Operand::kW;
  const bool kept_gradients = (in_weights || job.either_side) && job.op == Operation::kWeightGrad;
  spec.options.weights = (options.layout == "blocked" || options.beside_blocked) && !kept_gradients
                             ? WeightLayout::kPacked
                             : WeightLayout::kOihw;
  spec.min_rounds = options.rounds;
  spec.seconds = options.seconds;
  spec.with_auto = !options.no_auto;
  spec.with_sparsetrain = options.impl == "sparsetrain";
  spec.zeros = job.zeros;
  spec.stop = [] { return stop_signal() != 0; };
  const BenchBaselines baselines = parse_baselines(options.baselines);
  spec.baselines = baselines.more;
  // The least of several noisy ratios is too small: where it matters, they are timed longer.
  if (baselines.best) spec.close_error = 0.005;
  spec.close_seconds = std::max(0.15, 5 * options.seconds);
  spec.with_blocked = options.beside_blocked;
  spec.options.allow_winograd = !options.exact;
  use_precision(options.precision, spec);
  spec.options.or_weights = job.either_side;
  if (job.layer->traced != nullptr && (in_weights || job.either_side)) {
    const MaskView mask = job.layer->traced->w.mask;
    const std::int64_t taps = shape.taps();
    (in_weights ? spec.nonzero : spec.nonzero_weight) =
        [=](std::int64_t k, std::int64_t c, std::int64_t tap) { return mask.bit(k * taps + tap, c); };
  }
  if (in_weights) return spec;
  if (job.layer->traced != nullptr) {
    const bool activations =
        job.op == Operation::kForward || (job.op == Operation::kWeightGrad && job.checked == Operand::kA);
    const MaskView mask = activations ? job.layer->traced->a.mask : job.layer->traced->g.mask;
    const std::int64_t samples = job.layer->traced->shape.n;
    const std::int64_t pixels = mask.rows / samples;
    spec.nonzero = [=](std::int64_t image, std::int64_t channel, std::int64_t pixel) {
      return mask.bit(image % samples * pixels + pixel, channel);
    };
  }
  return spec;
}

bool left_out(const BenchLayer& layer, const BenchOptions& options) {
  if (options.impl != "sparsetrain") return false;
  const std::string refusal = kernels::sparsetrain_refusal(layer.shape, best_isa());
  if (refusal.find("AVX-512") != std::string::npos)
    throw InputError("--impl sparsetrain", "it needs a CPU with AVX-512", "use --impl sparse");
  return layer.initial || !refusal.empty();
}

std::vector<ZeroTable> read_tables(BenchOptions& options) {
  std::vector<ZeroTable> tables;
  if (options.zeros_files.empty()) return tables;
  if (!options.traces.empty())
    throw InputError("--zeros-file", "a trace has zeros of its own", "leave out --trace");
  if (options.scaling)
    throw InputError("--zeros-file", "--scaling has no use for it", "leave out one of them");
  if (options.zeros.size() < 2)
    throw InputError("--zeros", "a table of zeros is interpolated between shares", "give at least two");
  if (!options.shapes.empty() && options.shapes.size() != options.zeros_files.size())
    throw InputError("--shapes",
                     fmt::format("{} lists of layers for {} tables of zeros", options.shapes.size(),
                                 options.zeros_files.size()),
                     "give one for each, or none where files are named after their networks");
  const bool by_name = options.shapes.empty();
  for (const std::string& name : options.zeros_files) {
    tables.push_back(read_zero_table(name));
    if (by_name) options.shapes.push_back(zero_table_network(name));
  }
  return tables;
}

std::vector<BenchJob> plan_jobs(const std::vector<BenchNetwork>& networks,
                                const std::vector<ZeroTable>& tables, const BenchOptions& options) {
  if (options.impl == "sparsetrain" && options.zeros_in == "weights")
    throw InputError("--impl sparsetrain", "its authors' kernels do not skip zero weights",
                     "leave out --zeros-in weights");
  if (!tables.empty() && options.zeros_in != "data")
    throw InputError("--zeros-file", "its zeros are those of activations and gradients",
                     "leave out --zeros-in");
  if (options.zeros_in == "both" && options.traces.empty())
    throw InputError("--zeros-in both", "only a trace has zeros on both sides", "give one, with --trace");
  std::vector<BenchJob> jobs;
  for (const BenchNetwork& network : networks)
    for (const BenchLayer& layer : network.layers)
      for (const std::string& name : options.ops) {
        const Operation op = parse_op(name);
        // The gradient of the images is not needed.
        if (layer.initial && op == Operation::kInputGrad) continue;
        if (!options.layer.empty() && layer.name.find(options.layer) == std::string::npos) continue;
        if (left_out(layer, options)) continue;
        BenchJob job{&network, &layer, op, better_operand(layer, op, options), options.zeros};
        if (layer.traced != nullptr) job.zeros.clear();
        job.either_side = options.zeros_in == "both" && is_pruned(layer) && !layer.initial;
        if (!tables.empty()) {
          if (layer.initial) continue;
          const auto& table = tables[static_cast<std::size_t>(&network - networks.data())];
          const ZerosPlan plan = plan_zeros(table, layer, op, options.zeros);
          job.checked = plan.checked;
          job.zeros = plan.all();
        }
        jobs.push_back(job);
      }
  if (jobs.empty() && options.impl == "sparsetrain")
    throw InputError("--impl sparsetrain", "none of the layers is one that it can do",
                     "see docs/models/sparsetrain.md for what it covers");
  if (jobs.empty())
    throw InputError("--layer", fmt::format("no layer name contains '{}'", options.layer),
                     "give part of a layer name");
  return jobs;
}

}  // namespace lacuna::cli
