#include "bench/training/whole_training.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>

#include "base/error.hpp"
#include "base/text/quote.hpp"

namespace lacuna::bench {

namespace {

// Seconds of one set of parts.
struct Sum {
  double direct = 0, always = 0, chosen = 0;
  void add(double seconds, double relative) {
    direct += seconds;
    always += seconds * relative;
    chosen += seconds * std::min(1.0, relative);
  }
  Speedup speedup() const { return direct > 0 ? Speedup{direct / always, direct / chosen} : Speedup{}; }
};

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

// Shares of zeros to measure for one layer and operation.
struct ZerosPlan {
  Rows rows;  // of the checked operand, one per layer of this shape; none: dense
  std::optional<Operand> checked;
  std::vector<double> shares;
  std::optional<double> apart;  // a share that is measured only to be compared with the interpolated time
};

// weight_grad checks the operand that has more zeros over the training. Throws InputError if the table lacks
// a row, or the layer does not say which rows are its own.
ZerosPlan plan_zeros(const ZeroTable& table, const NetworkLayer& layer, Operation op,
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

// Appends the results of one network.
void add_results(const ZeroTable& table, const Network& network, const std::vector<Case>& cases,
                 const std::vector<double>& grid, std::vector<TrainingResult>& results) {
  for (const bool authors : {false, true}) {
    TrainingResult training{network.name,
                            table.path,
                            authors ? "sparsetrain" : "sparse",
                            table.epochs.size(),
                            {},
                            network.paper_training,
                            network.paper_inference,
                            {}};
    std::vector<TrainingPart> parts;
    for (const NetworkLayer& layer : network.layers) {
      if (layer.initial) continue;
      for (const Operation op : kOperations) {
        const ZerosPlan plan = plan_zeros(table, layer, op, grid);
        TrainingPart part{op, 0, {}, {}};
        double measured = 0;
        for (const Case& c : cases) {
          if (c.network != network.name || c.layer != layer.name || c.op != op) continue;
          const double x_direct = authors ? c.authors_x_direct() : c.x_direct();
          if (!(x_direct > 0)) continue;
          part.direct_seconds = c.result.direct().seconds;
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
    results.push_back(training);
  }
}

std::string summary_text(const std::vector<TrainingResult>& results, const TextStyle& style) {
  TextTable table({{"network", Align::kLeft},
                   {"non-initial convolutions", Align::kLeft},
                   {"kernels", Align::kLeft},
                   {"x direct"},
                   {"where it pays"},
                   {"paper"}});
  const auto row = [&](const TrainingResult& t, std::string part, const Speedup& speedup, double paper) {
    table.add_row({printable(t.network), std::move(part), t.impl, fmt::format("{:.2f}", speedup.always),
                   fmt::format("{:.2f}", speedup.chosen), paper > 0 ? fmt::format("{:.2f}", paper) : "-"});
  };
  for (const TrainingResult& t : results) {
    row(t, "training, all epochs", t.speedup.training, t.paper_training);
    for (const Operation op : kOperations)
      row(t, fmt::format("  {}", operation_name(op)), t.speedup.operations[op], 0);
    row(t, "inference, zeros of the last epoch", t.speedup.inference, t.paper_inference);
  }
  std::string text =
      "\n" + table.render(style) +
      "x direct: zeros are skipped wherever the operand has any; where it pays: only where that "
      "is faster than oneDNN direct.\n";
  for (const TrainingResult& t : results)
    if (!t.interpolation_errors.empty())
      text += fmt::format(
          "{} {}: {} epochs, interpolated between measured shares of zeros; off by {:.1f} % (median) and at "
          "most {:.1f} % at {} shares measured to see that\n",
          printable(t.network), t.impl, t.epochs, 100 * kernels::median(t.interpolation_errors),
          100 * worst_of(t.interpolation_errors), t.interpolation_errors.size());
  return text;
}

// Reads the tables, and completes the lists of layers where the files are named after their networks.
std::vector<ZeroTable> read_tables(const std::vector<std::string>& names, std::vector<std::string>& shapes) {
  if (!shapes.empty() && shapes.size() != names.size())
    throw InputError("--shapes",
                     fmt::format("{} lists of layers for {} tables of zeros", shapes.size(), names.size()),
                     "give one for each, or none where files are named after their networks");
  const bool by_name = shapes.empty();
  std::vector<ZeroTable> tables;
  for (const std::string& name : names) {
    tables.push_back(read_zero_table(name));
    if (by_name) shapes.push_back(std::filesystem::path(name).stem().string());
  }
  return tables;
}

}  // namespace

void ZeroCurve::add(double share, double time) {
  const auto at = std::ranges::lower_bound(points_, share, {}, &Point::share);
  points_.insert(at, {share, time});
}

double ZeroCurve::at(double share) const {
  if (points_.size() == 1) return points_.front().time;
  auto right = std::ranges::lower_bound(points_, share, {}, &Point::share);
  right = std::clamp(right, points_.begin() + 1, points_.end() - 1);
  const Point& a = *(right - 1);
  const Point& b = *right;
  return std::max(0.0, a.time + (b.time - a.time) * (share - a.share) / (b.share - a.share));
}

std::vector<double> covering_shares(std::vector<double> grid, double least, double most) {
  std::ranges::sort(grid);
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  // The last point at or below the least share, the first at or above the greatest.
  auto first = std::ranges::upper_bound(grid, least);
  if (first != grid.begin()) --first;
  auto last = std::ranges::lower_bound(grid, most);
  if (last != grid.end()) ++last;
  return {first, std::max(last, first)};
}

TrainingSpeedup training_speedup(const std::vector<TrainingPart>& parts, std::size_t epochs) {
  TrainingSpeedup result;
  Sum all, inference;
  PerOperation<Sum> operations;
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    Sum step;
    for (const TrainingPart& part : parts) {
      const double relative = part.zeros.empty() ? 1 : part.curve.at(part.zeros[epoch]);
      all.add(part.direct_seconds, relative);
      step.add(part.direct_seconds, relative);
      operations[part.op].add(part.direct_seconds, relative);
      if (part.op == Operation::kForward && epoch + 1 == epochs) inference.add(part.direct_seconds, relative);
    }
    result.epochs.push_back(step.speedup().chosen);
  }
  result.training = all.speedup();
  for (const Operation op : kOperations) result.operations[op] = operations[op].speedup();
  result.inference = inference.speedup();
  return result;
}

TrainingPlan plan_training(const std::vector<std::string>& tables, LayersSpec spec) {
  if (spec.zeros.size() < 2)
    throw InputError("--zeros", "a table of zeros is interpolated between shares", "give at least two");
  TrainingPlan plan;
  plan.tables = read_tables(tables, spec.shapes);
  plan.layers = plan_layers(std::move(spec));
  plan.grid = plan.layers.spec.zeros;
  std::erase_if(plan.layers.jobs, [](const Job& job) { return job.layer->initial; });
  if (plan.layers.jobs.empty())
    throw InputError("--layer", "it names the initial layer, which has no zeros", "name another");
  for (Job& job : plan.layers.jobs) {
    const auto network = static_cast<std::size_t>(job.network - plan.layers.networks.data());
    const ZerosPlan zeros = plan_zeros(plan.tables[network], *job.layer, job.op, plan.grid);
    job.checked = zeros.checked;
    job.zeros = zeros.shares;
    if (zeros.apart) job.zeros.push_back(*zeros.apart);
  }
  return plan;
}

std::vector<TrainingResult> training_results(const TrainingPlan& plan, const LayersReport& report) {
  std::vector<TrainingResult> results;
  if (is_whole_training(plan.layers, report))
    for (std::size_t i = 0; i < plan.tables.size(); ++i)
      add_results(plan.tables[i], plan.layers.networks[i], report.cases, plan.grid, results);
  return results;
}

std::string training_text(const LayersReport& report, const std::vector<TrainingResult>& results,
                          const TextStyle& style) {
  return layers_text(report, results.empty() ? "" : summary_text(results, style), style);
}

Json training_json(const LayersReport& report, const std::vector<TrainingResult>& results) {
  const auto object = [](const Speedup& speedup, double paper) {
    Json entry{{"x_direct", speedup.always}, {"x_direct_where_it_pays", speedup.chosen}};
    if (paper > 0) entry["paper"] = paper;
    return entry;
  };
  Json json = layers_json(report);
  for (const TrainingResult& t : results) {
    Json entry;
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
    json["trainings"].push_back(entry);
  }
  return json;
}

}  // namespace lacuna::bench
