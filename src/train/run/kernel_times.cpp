#include "train/run/kernel_times.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "base/clock.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::train {
namespace {

using kernels::median;

NetworkOptions with_kernels(NetworkOptions options, Kernels kernels, Precision precision) {
  options.kernels = kernels;
  options.precision = precision;
  return options;
}

// A copy of a network, and the times of its steps.
struct Timed {
  Network network;
  std::vector<double> step_ms;
  std::vector<double> layers_ms;                            // per step: sum over all layers but the first
  std::vector<PerOperation<std::vector<double>>> by_layer;  // milliseconds per step

  Timed(Network& like, Kernels kernels, Precision precision)
      : network(like.graph(), with_kernels(like.options(), kernels, precision)),
        by_layer(network.conv_layers().size()) {
    for (std::size_t i = 0; i < like.parameters().size(); ++i) {
      const AlignedFloats& from = like.parameters()[i]->value;
      std::copy(from.data(), from.data() + from.size(), network.parameters()[i]->value.data());
      network.parameters()[i]->kept = like.parameters()[i]->kept;
    }
  }

  void run(const float* images, const std::int32_t* labels, const Pass& pass, bool count) {
    for (ConvLayer* layer : network.conv_layers()) layer->reset_use();
    const double start = seconds_now();
    network.forward(images, labels, pass);
    network.backward();
    const double all = 1e3 * (seconds_now() - start);
    if (!count) return;
    step_ms.push_back(all);
    double sum = 0;
    for (std::size_t l = 0; l < by_layer.size(); ++l)
      for (const Operation op : kOperations) {
        const double ms = 1e3 * network.conv_layers()[l]->use(op).seconds;
        by_layer[l][op].push_back(ms);
        if (!network.conv_layers()[l]->initial()) sum += ms;
      }
    layers_ms.push_back(sum);
  }
};

std::optional<Operand> skipped_last(const OpUse& use) {
  for (const Operand operand : {Operand::kA, Operand::kG, Operand::kW})
    if (use.skipped_calls[operand] > 0) return operand;
  return std::nullopt;
}

double median_ratio(const std::vector<double>& dense, const std::vector<double>& other) {
  std::vector<double> ratios(dense.size());
  std::transform(dense.begin(), dense.end(), other.begin(), ratios.begin(), std::divides<>());
  return median(ratios);
}

}  // namespace

KernelTimes time_kernels(Network& network, const Trainer& trainer, Kernels kernels, int steps,
                         const std::function<void(double)>& progress) {
  Timed dense(network, Kernels::kDense, Precision::kFloat32);
  Timed other(network, kernels, network.options().precision);
  std::vector<float> images(static_cast<std::size_t>(network.options().batch * network.graph().input.size()));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(network.options().batch));
  for (int i = -1; i < steps; ++i) {  // the first pair warms the caches and is not counted
    const std::int64_t step = trainer.step() + std::max(i, 0);
    trainer.load(step, images.data(), labels.data());
    Pass pass = trainer.pass(step, true);
    pass.weights_version = 0;  // weights stay as they are, but a training would pack them in each step
    // The second of a pair finds the batch in the cache, so the order alternates.
    Timed& first = i % 2 == 0 ? dense : other;
    Timed& second = i % 2 == 0 ? other : dense;
    first.run(images.data(), labels.data(), pass, i >= 0);
    second.run(images.data(), labels.data(), pass, i >= 0);
    if (progress) progress(static_cast<double>(i + 2) / static_cast<double>(steps + 1));
  }
  KernelTimes times;
  times.steps = steps;
  times.kernels = kernels;
  times.precision = network.options().precision;
  times.batch = network.options().batch;
  for (std::size_t l = 0; l < dense.by_layer.size(); ++l) {
    const ConvLayer& layer = *dense.network.conv_layers()[l];
    LayerTimes row{.name = layer.name(), .initial = layer.initial()};
    for (const Operation op : kOperations) {
      row.dense[op] = median(dense.by_layer[l][op]);
      row.other[op] = median(other.by_layer[l][op]);
      row.skipped[op] = skipped_last(other.network.conv_layers()[l]->use(op));
    }
    times.layers.push_back(row);
  }
  times.layers_speedup = median_ratio(dense.layers_ms, other.layers_ms);
  times.step_speedup = median_ratio(dense.step_ms, other.step_ms);
  times.dense_step_ms = median(dense.step_ms);
  times.other_step_ms = median(other.step_ms);
  return times;
}

std::string kernel_times_csv(const KernelTimes& times) {
  std::string text = "layer,initial,operation,dense_ms," + times.other_name() + "_ms,skipped\n";
  for (const LayerTimes& layer : times.layers)
    for (const Operation op : kOperations)
      text += fmt::format("{},{},{},{:.4f},{:.4f},{}\n", layer.name, layer.initial ? 1 : 0,
                          operation_name(op), layer.dense[op], layer.other[op],
                          layer.skipped[op] ? operand_name(*layer.skipped[op]) : "");
  return text;
}

std::string kernels_table(const KernelTimes& times, const TextStyle& style) {
  const std::string other = times.other_name();
  TextTable table({{"layer", Align::kLeft},
                   {"dense", Align::kRight, "forward, ms"},
                   {other, Align::kRight, "forward, ms"},
                   {"dense", Align::kRight, "input_grad, ms"},
                   {other, Align::kRight, "input_grad, ms"},
                   {"dense", Align::kRight, "weight_grad, ms"},
                   {other, Align::kRight, "weight_grad, ms"},
                   {"speedup", Align::kRight, "all three"},
                   {"skipped", Align::kLeft, "zeros"}});
  const auto row = [&](const std::string& name, const PerOperation<double>& dense,
                       const PerOperation<double>& sparse, double speedup, const std::string& skipped) {
    std::vector<std::string> cells = {name};
    for (const Operation op : kOperations) {
      cells.push_back(dense[op] > 0 ? fmt::format("{:.2f}", dense[op]) : "-");
      cells.push_back(sparse[op] > 0 ? fmt::format("{:.2f}", sparse[op]) : "-");
    }
    // A network of one layer has no layers after the first.
    cells.push_back(std::isfinite(speedup) ? fmt::format("{:.2f}x", speedup) : "-");
    cells.push_back(skipped);
    table.add_row(std::move(cells));
  };
  PerOperation<double> dense{}, sparse{};
  for (const LayerTimes& layer : times.layers) {
    if (layer.initial) continue;
    std::string skipped;
    for (const auto& operand : layer.skipped)
      skipped += fmt::format("{} ", operand ? operand_name(*operand) : "-");
    skipped.pop_back();
    row(printable(layer.name), layer.dense, layer.other,
        std::accumulate(layer.dense.begin(), layer.dense.end(), 0.0) /
            std::accumulate(layer.other.begin(), layer.other.end(), 0.0),
        skipped);
    for (const Operation op : kOperations) {
      dense[op] += layer.dense[op];
      sparse[op] += layer.other[op];
    }
  }
  table.add_rule();
  // The median of the ratios of the steps, as in the text below the table; the quotient of the sums may
  // differ a little.
  row("all but the first", dense, sparse, times.layers_speedup, "");
  return table.render(style);
}

}  // namespace lacuna::train
