// Times our kernels for zero weights compared with the algorithm of SparseProp, on the convolutions of
// ResNet-50:
//   sparseprop_compare [--zeros 90,95] [--rounds 3] [--layer TEXT]
// One thread, batch 16, CPU time, interleaved in one process, each right after an untimed run of itself;
// medians of paired ratios. Ours works on blocked tensors and its transposes are counted; SparseProp gets its
// tensors with the batch innermost, and what that takes is counted in one column alone: the activations and
// gradients that go in and come out, plain outside, by transposes in registers. Of its two orders of loops
// the faster one counts, in each layer.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "bench/inputs/layer_list.hpp"
#include "kernels/measure/plan_tensors.hpp"
#include "kernels/measure/race.hpp"
#include "sparseprop/sparseprop.hpp"

namespace lacuna::sparseprop {
namespace {

using kernels::AlignedFloats;
using kernels::median;

// One of ours, or of oneDNN's: plan, tensors and packed weights.
class Plan {
 public:
  Plan(const LayerShape& shape, Operation op, kernels::Impl impl, double zeros)
      : plan_(shape, options_of(op, impl)), data_(plan_) {
    data_.fill_quickly(plan_, zeros, 1);
    tensors_ = data_.tensors();
  }
  const float* weights() const { return data_.plain_weights.data(); }
  void run() { plan_.run(tensors_); }

 private:
  static kernels::ConvOptions options_of(Operation op, kernels::Impl impl) {
    kernels::ConvOptions options;
    options.op = op;
    options.impl = impl;
    if (impl == kernels::Impl::kSparse) options.checked = Operand::kW;
    options.layout = kernels::Layout::kBlocked;
    if (op != Operation::kWeightGrad) options.weights = kernels::WeightLayout::kPacked;
    return options;
  }
  kernels::ConvPlan plan_;
  kernels::PlanTensors data_;
  kernels::ConvTensors tensors_;
};

struct Rows {
  std::vector<double> ours, direct, avx2, avx512, conversions;  // seconds, by rounds
};

// Each is timed right after itself: what a cache can keep of its tensors is there.
double seconds_of(const auto& call) {
  call();
  const double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  call();
  return clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
}

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> result;
  for (std::size_t i = 0; i < of.size(); ++i) result.push_back(of[i] / to[i]);
  return result;
}

// SparseProp on random tensors, in both orders.
class Theirs {
 public:
  Theirs(const LayerShape& shape, const float* weights, const Loops& loops)
      : orders_{SparseProp(shape, weights, loops, Order::kPlanes),
                SparseProp(shape, weights, loops, Order::kChunks)},
        times_(2),
        input_(orders_[0].input_floats()),
        diff_input_(orders_[0].input_floats()),
        result_(orders_[0].result_floats()),
        other_(orders_[0].result_floats()),
        diff_weights_(shape.w_elements()) {
    for (AlignedFloats* tensor : {&input_, &diff_input_, &result_, &other_})
      for (std::int64_t i = 0; i < tensor->size(); ++i) (*tensor)[i] = static_cast<float>(i % 17) - 8;
  }
  void round(bool forward) {
    for (std::size_t i = 0; i < orders_.size(); ++i)
      times_[i].push_back(seconds_of([&] {
        if (forward)
          orders_[i].forward(input_.data(), result_.data());
        else
          orders_[i].backward(input_.data(), result_.data(), diff_input_.data(), diff_weights_.data());
      }));
  }
  // Converts layouts, as a module with plain tensors outside has to.
  double convert(bool forward) {
    const std::int64_t input = input_.size() / 16;
    const std::int64_t result = result_.size() / 16;
    return seconds_of([&] {
      if (forward) {
        to_innermost(diff_input_.data(), input, input_.data());
        from_innermost(result_.data(), result, other_.data());
      } else {
        to_innermost(other_.data(), result, result_.data());
        from_innermost(diff_input_.data(), input, input_.data());
      }
    });
  }
  // Times of the faster order.
  const std::vector<double>& times() const { return times_[median(times_[0]) < median(times_[1]) ? 0 : 1]; }

 private:
  std::vector<SparseProp> orders_;
  std::vector<std::vector<double>> times_;
  AlignedFloats input_, diff_input_, result_, other_, diff_weights_;
};

Rows measure(const LayerShape& shape, bool forward, double zeros, int rounds) {
  std::vector<Plan> ours, direct;
  const std::vector<Operation> ops =
      forward ? std::vector<Operation>{Operation::kForward}
              : std::vector<Operation>{Operation::kInputGrad, Operation::kWeightGrad};
  ours.reserve(ops.size());
  direct.reserve(ops.size());
  for (const Operation op : ops) {
    ours.emplace_back(shape, op, kernels::Impl::kSparse, zeros);
    direct.emplace_back(shape, op, kernels::Impl::kDenseDirect, 0.0);
  }
  Theirs avx2(shape, ours[0].weights(), kAvx2);
  Theirs avx512(shape, ours[0].weights(), kAvx512);
  Rows rows;
  for (int round = 0; round < rounds; ++round) {
    const double own = seconds_of([&] { std::for_each(ours.begin(), ours.end(), [](Plan& p) { p.run(); }); });
    const double dense =
        seconds_of([&] { std::for_each(direct.begin(), direct.end(), [](Plan& p) { p.run(); }); });
    avx2.round(forward);
    avx512.round(forward);
    rows.conversions.push_back(avx2.convert(forward));
    rows.ours.push_back(own);
    rows.direct.push_back(dense);
  }
  rows.avx2 = avx2.times();
  rows.avx512 = avx512.times();
  return rows;
}

struct Mean {
  double avx2 = 0, avx512 = 0, module = 0, direct = 0, theirs = 0;  // sums of logarithms
  double layers = 0;
};

int compare(const std::vector<double>& zeros, int rounds, const std::string& layer) {
  const bench::Network network = bench::read_shapes("resnet50", 16);
  fmt::print("{:<20} {:<24} {:<9} {:>5} {:>8} {:>8} {:>9} {:>11} {:>7} {:>9} {:>13} {:>9}\n", "layer",
             "shape", "pass", "zeros", "ours ms", "avx2 ms", "avx512 ms", "convert ms", "x avx2", "x avx512",
             "x avx2+convert", "x direct");
  std::map<std::string, Mean> means;
  for (const bench::NetworkLayer& l : network.layers) {
    if (l.initial || l.name.find(layer) == std::string::npos) continue;
    for (const bool forward : {true, false})
      for (const double percent : zeros) {
        const Rows t = measure(l.shape, forward, percent / 100, rounds);
        const double avx2 = median(ratios(t.avx2, t.ours));
        const double avx512 = median(ratios(t.avx512, t.ours));
        const double direct = median(ratios(t.direct, t.ours));
        const double module = avx2 + median(ratios(t.conversions, t.ours));
        fmt::print(
            "{:<20} {:<24} {:<9} {:>4}% {:>8.2f} {:>8.2f} {:>9.2f} {:>11.2f} {:>7.2f} {:>9.2f} {:>14.2f} "
            "{:>9.2f}\n",
            l.name, l.shape.describe(), forward ? "forward" : "backward", percent, 1e3 * median(t.ours),
            1e3 * median(t.avx2), 1e3 * median(t.avx512), 1e3 * median(t.conversions), avx2, avx512, module,
            direct);
        std::fflush(stdout);
        Mean& mean = means[fmt::format("{:<4} {:<9} {:>3} %", l.shape.taps() == 1 ? "1x1" : "3x3",
                                       forward ? "forward" : "backward", percent)];
        const auto count = static_cast<double>(l.count);
        mean.avx2 += count * std::log(avx2);
        mean.avx512 += count * std::log(avx512);
        mean.module += count * std::log(module);
        mean.direct += count * std::log(direct);
        mean.theirs += count * std::log(median(ratios(t.direct, t.avx2)));
        mean.layers += count;
      }
  }
  fmt::print("\n{:<20} {:>6} {:>7} {:>9} {:>14} {:>14} {:>15}\n", "geometric mean over", "layers", "x avx2",
             "x avx512", "x avx2+convert", "ours x direct", "avx2 x direct");
  for (const auto& [name, mean] : means)
    fmt::print("{:<20} {:>6} {:>7.2f} {:>9.2f} {:>14.2f} {:>14.2f} {:>15.2f}\n", name, mean.layers,
               std::exp(mean.avx2 / mean.layers), std::exp(mean.avx512 / mean.layers),
               std::exp(mean.module / mean.layers), std::exp(mean.direct / mean.layers),
               std::exp(mean.theirs / mean.layers));
  return 0;
}

}  // namespace
}  // namespace lacuna::sparseprop

int main(int argc, char** argv) {
  CLI::App app("Our kernels for zero weights compared with the algorithm of SparseProp");
  std::vector<double> zeros = {90, 95};
  int rounds = 3;
  std::string layer;
  app.add_option("--zeros", zeros, "Percentages of zero weights")->delimiter(',');
  app.add_option("--rounds", rounds, "Paired runs per case")->check(CLI::PositiveNumber);
  app.add_option("--layer", layer, "Only layers whose name contains this");
  CLI11_PARSE(app, argc, argv);
  return lacuna::sparseprop::compare(zeros, rounds, layer);
}
