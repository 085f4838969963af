#include "cli/commands/bench_training.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.hpp"
#include "base/text/quote.hpp"
#include "base/text/text_table.hpp"
#include "cli/commands/bench_results.hpp"

namespace lacuna::cli {
namespace {

using Rows = std::vector<const ZeroTable::Row*>;

Rows rows_of(const ZeroTable& table, const std::vector<std::string>& names, const std::string& use) {
  Rows rows;
  rows.reserve(names.size());
  for (const std::string& name : names) rows.push_back(&table.row(name, use));
  return rows;
}

double mean_share(const Rows& rows) {
  double sum = 0;
  std::size_t count = 0;
  for (const ZeroTable::Row* row : rows) {
    sum = std::accumulate(row->shares.begin(), row->shares.end(), sum);
    count += row->shares.size();
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double worst_of(const std::vector<double>& errors) {
  return errors.empty() ? 0 : *std::ranges::max_element(errors);
}

}  // namespace

std::vector<double> ZerosPlan::all() const {
  std::vector<double> result = shares;
  if (apart) result.push_back(*apart);
  return result;
}

ZerosPlan plan_zeros(const ZeroTable& table, const BenchLayer& layer, Operation op,
                     const std::vector<double>& grid) {
  if (layer.zeros_a.empty() && layer.zeros_g.empty())
    throw InputError(
        fmt::format("layer {}", quote_name(layer.name)),
        fmt::format("nothing says which rows of {} are its zeros", table.path),
        "add zeros_a (and zeros_g) to the list of layers, as configs/shapes/vgg16.yaml has them");
  const Rows a = rows_of(table, layer.zeros_a, "the input of " + layer.name);
  const Rows g = rows_of(table, layer.zeros_g, "the gradient of " + layer.name);
  ZerosPlan plan;
  if (op == Operation::kWeightGrad) plan.checked = mean_share(g) > mean_share(a) ? Operand::kG : Operand::kA;
  const bool gradients = op == Operation::kInputGrad || plan.checked == Operand::kG;
  plan.rows = gradients ? g : a;
  plan.shares = {0};  // a dense operand: the time of oneDNN direct is all that is needed
  if (plan.rows.empty()) return plan;
  double least = 1;
  double most = 0;
  for (const ZeroTable::Row* row : plan.rows) {
    least = std::min(least, *std::ranges::min_element(row->shares));
    most = std::max(most, *std::ranges::max_element(row->shares));
  }
  plan.shares = covering_shares(grid, least, most);
  const double mean = mean_share(plan.rows);
  if (std::ranges::find(plan.shares, mean) == plan.shares.end()) plan.apart = mean;
  return plan;
}

std::vector<BenchTraining> trainings_of(const ZeroTable& table, const BenchNetwork& network,
                                        const std::vector<BenchCase>& cases,
                                        const std::vector<double>& grid) {
  std::vector<BenchTraining> result;
  for (const bool authors : {false, true}) {
    BenchTraining training{network.name,
                           table.path,
                           authors ? "sparsetrain" : "sparse",
                           table.epochs.size(),
                           {},
                           network.paper_training,
                           network.paper_inference,
                           {}};
    std::vector<TrainingPart> parts;
    for (const BenchLayer& layer : network.layers) {
      if (layer.initial) continue;
      for (const Operation op : kOperations) {
        const ZerosPlan plan = plan_zeros(table, layer, op, grid);
        TrainingPart part{op, 0, {}, {}};
        double measured = 0;
        for (const BenchCase& c : cases) {
          if (c.network != network.name || c.layer != layer.name || c.op != op) continue;
          const double x_direct = authors ? c.result.sparsetrain_x_direct : c.result.x_direct;
          if (!(x_direct > 0)) continue;
          part.direct_seconds = c.result.direct_seconds;
          if (plan.apart == c.wanted_zeros)
            measured = 1 / x_direct;
          else
            part.curve.add(c.wanted_zeros, 1 / x_direct);
        }
        if (part.curve.empty()) continue;  // not timed
        if (plan.apart)
          training.interpolation_errors.push_back(std::fabs(part.curve.at(*plan.apart) / measured - 1));
        if (plan.rows.empty()) parts.insert(parts.end(), static_cast<std::size_t>(layer.count), part);
        for (const ZeroTable::Row* row : plan.rows) {
          part.zeros = row->shares;
          parts.push_back(part);
        }
      }
    }
    if (parts.empty()) continue;
    training.speedup = training_speedup(parts, training.epochs);
    result.push_back(training);
  }
  return result;
}

std::string training_table(const std::vector<BenchTraining>& trainings) {
  std::string text;
  auto out = std::back_inserter(text);
  const auto line = [&](const BenchTraining& t, const char* what, const Speedup& speedup, double paper) {
    fmt::format_to(out, "{:<12}  {:<34}  {:<11}  {:>8.2f}  {:>13.2f}  {:>5}\n", printable(t.network), what,
                   t.impl, speedup.always, speedup.chosen, paper > 0 ? fmt::format("{:.2f}", paper) : "-");
  };
  fmt::format_to(out, "\n{:<12}  {:<34}  {:<11}  {:>8}  {:>13}  {:>5}\n", "network",
                 "non-initial convolutions", "kernels", "x direct", "where it pays", "paper");
  for (const BenchTraining& t : trainings) {
    line(t, "training, all epochs", t.speedup.training, t.paper_training);
    for (const Operation op : kOperations)
      line(t, fmt::format("  {}", operation_name(op)).c_str(), t.speedup.operations[op], 0);
    line(t, "inference, zeros of the last epoch", t.speedup.inference, t.paper_inference);
  }
  text +=
      "x direct: zeros are skipped wherever the operand has any; where it pays: only where that is faster "
      "than oneDNN "
      "direct.\n";
  for (const BenchTraining& t : trainings)
    if (!t.interpolation_errors.empty())
      fmt::format_to(
          out,
          "{} {}: {} epochs, interpolated between measured shares of zeros; off by {:.1f} % (median) and at "
          "most {:.1f} % at {} shares measured to see that\n",
          printable(t.network), t.impl, t.epochs, 100 * kernels::median(t.interpolation_errors),
          100 * worst_of(t.interpolation_errors), t.interpolation_errors.size());
  return text;
}

nlohmann::ordered_json training_json(const std::vector<BenchTraining>& trainings) {
  using nlohmann::ordered_json;
  const auto object = [](const Speedup& speedup, double paper) {
    ordered_json entry{{"x_direct", speedup.always}, {"x_direct_where_it_pays", speedup.chosen}};
    if (paper > 0) entry["paper"] = paper;
    return entry;
  };
  ordered_json list = ordered_json::array();
  for (const BenchTraining& t : trainings) {
    ordered_json entry;
    entry["network"] = t.network;
    entry["table"] = t.table;
    entry["impl"] = t.impl;
    entry["epochs"] = t.epochs;
    entry["training"] = object(t.speedup.training, t.paper_training);
    for (const Operation op : kOperations)
      entry["training"][operation_name(op)] = object(t.speedup.operations[op], 0);
    entry["training"]["by_epoch"] = t.speedup.epochs;
    entry["inference"] = object(t.speedup.inference, t.paper_inference);
    entry["interpolation"] = {{"points", t.interpolation_errors.size()},
                              {"median_error", kernels::median(t.interpolation_errors)},
                              {"worst_error", worst_of(t.interpolation_errors)}};
    list.push_back(entry);
  }
  return list;
}

}  // namespace lacuna::cli
