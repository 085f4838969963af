#include "cli/commands/train_setup.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "kernels/bfloat16/bfloat16_conv.hpp"

namespace lacuna::cli {

train::Kernels parse_kernels(const std::string& name) {
  for (const train::Kernels kernels :
       {train::Kernels::kDense, train::Kernels::kSparse, train::Kernels::kAuto})
    if (name == kernels_name(kernels)) return kernels;
  throw InputError("--kernels " + name, "unknown kernels", suggest(name, {"dense", "sparse", "auto"}));
}

train::Precision parse_precision(const std::string& name, train::Kernels kernels) {
  if (name == "float32") return train::Precision::kFloat32;
  if (name != "bfloat16")
    throw InputError("--precision " + name, "unknown precision", suggest(name, {"float32", "bfloat16"}));
  if (kernels == train::Kernels::kSparse)
    throw InputError("--precision bfloat16", "kernels that always skip zeros multiply in single precision",
                     "use --kernels auto or dense");
  kernels::require_bfloat16("--precision bfloat16");
  return train::Precision::kBfloat16;
}

bool leaves_out_winograd(const TrainSetup& setup, bool records) {
  return setup.exact.value_or(records || parse_kernels(setup.kernels) != train::Kernels::kAuto);
}

std::string kernels_table(const train::KernelTimes& times, const TextStyle& style) {
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
  const auto row = [&](const std::string& name, const std::array<double, 3>& dense,
                       const std::array<double, 3>& sparse, double speedup, const std::string& skipped) {
    std::vector<std::string> cells = {name};
    for (std::size_t op = 0; op < 3; ++op) {
      cells.push_back(dense[op] > 0 ? fmt::format("{:.2f}", dense[op]) : "-");
      cells.push_back(sparse[op] > 0 ? fmt::format("{:.2f}", sparse[op]) : "-");
    }
    // A network of one layer has no layers after the first.
    cells.push_back(std::isfinite(speedup) ? fmt::format("{:.2f}x", speedup) : "-");
    cells.push_back(skipped);
    table.add_row(std::move(cells));
  };
  std::array<double, 3> dense{}, sparse{};
  for (const train::LayerTimes& layer : times.layers) {
    if (layer.initial) continue;
    std::string skipped;
    for (const auto& operand : layer.skipped)
      skipped += fmt::format("{} ", train::operand_letter(operand, "-"));
    skipped.pop_back();
    row(printable(layer.name), layer.dense, layer.other,
        std::accumulate(layer.dense.begin(), layer.dense.end(), 0.0) /
            std::accumulate(layer.other.begin(), layer.other.end(), 0.0),
        skipped);
    for (std::size_t op = 0; op < 3; ++op) {
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

}  // namespace lacuna::cli
