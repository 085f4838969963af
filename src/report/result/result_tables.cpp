#include "report/result/result_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/text/text_table.hpp"
#include "report/compare/design_difference.hpp"
#include "report/short_text.hpp"
#include "report/study/coverage.hpp"

namespace lacuna {
namespace {

// One trace on each of the machines.
struct TraceRuns {
  std::string trace;
  std::vector<const RunResult*> runs;  // one per architecture, null where it was not simulated

  const RunResult& any() const {
    return **std::ranges::find_if(runs, [](auto* run) { return run != nullptr; });
  }
};

struct ModelRuns {
  std::string model;
  std::vector<TraceRuns> traces;  // by progress of the training
};

struct Sorted {
  std::vector<std::string> archs;
  std::vector<ModelRuns> models;
};

// The item whose `name` is `key`, added at the end if there is none.
template <typename T>
T& find_or_add(std::vector<T>& items, const std::string& key, std::string T::*name, T added) {
  const auto at = std::ranges::find(items, key, name);
  return at != items.end() ? *at : items.emplace_back(std::move(added));
}

Sorted sort_runs(const std::vector<RunResult>& runs) {
  Sorted sorted;
  for (const RunResult& run : runs) {
    if (std::ranges::find(sorted.archs, run.arch) == sorted.archs.end()) sorted.archs.push_back(run.arch);
  }
  const std::vector<const RunResult*> none(sorted.archs.size(), nullptr);
  for (const RunResult& run : runs) {
    ModelRuns& model = find_or_add(sorted.models, run.info.model, &ModelRuns::model, {run.info.model, {}});
    TraceRuns& trace = find_or_add(model.traces, run.trace, &TraceRuns::trace, {run.trace, none});
    trace.runs[static_cast<std::size_t>(std::ranges::find(sorted.archs, run.arch) - sorted.archs.begin())] =
        &run;
  }
  for (ModelRuns& model : sorted.models) {
    std::ranges::stable_sort(model.traces, {}, [](const TraceRuns& trace) {
      return trace.any().info.progress.value_or(std::numeric_limits<double>::infinity());
    });
  }
  return sorted;
}

// Each layer counts as often as a step of the training multiplies it, whatever was recorded of it.
Totals sum_batches(const ModelRuns& model, std::size_t arch) {
  Totals sum;
  for (const TraceRuns& trace : model.traces) {
    if (trace.runs[arch] == nullptr) continue;
    const Totals part = trace.runs[arch]->per_batch();
    for (const Operation op : kOperations) sum.of(op) += part.of(op);
    sum.all += part.all;
  }
  return sum;
}

void append_cycles(std::vector<std::string>& cells, const CycleComparison& pair) {
  cells.push_back(rounded_digits(pair.baseline_cycles));
  cells.push_back(rounded_digits(pair.cycles));
  cells.push_back(ratio_text(pair.cycles_without_zeros, pair.cycles));
  cells.push_back(ratio_text(pair.baseline_cycles, pair.cycles_without_zeros));
  cells.push_back(ratio_text(pair.baseline_cycles, pair.cycles));
}

ColumnGroup cycle_columns(const std::string& arch) {
  return {arch, {"baseline cycles", "cycles", "from zeros", "without zeros", "speedup"}};
}

std::string operation_table(const ModelRuns& model, const std::vector<std::string>& archs,
                            const TextStyle& style) {
  std::vector<TableColumn> columns{{"operation", Align::kLeft}};
  for (const std::string& arch : archs) columns = with_groups(std::move(columns), {cycle_columns(arch)});
  std::vector<Totals> totals;
  for (std::size_t arch = 0; arch < archs.size(); ++arch) totals.push_back(sum_batches(model, arch));
  TextTable table(std::move(columns));
  const auto row = [&](std::string name, auto pick) {
    std::vector<std::string> cells{std::move(name)};
    for (const Totals& of_arch : totals) append_cycles(cells, pick(of_arch));
    table.add_row(std::move(cells));
  };
  for (const Operation op : kOperations) {
    const bool ran = std::ranges::any_of(totals, [&](const Totals& of) { return of.of(op).cycles > 0; });
    if (!ran) continue;  // --operations left it out
    row(std::string(operation_name(op)), [&](const Totals& of) { return of.of(op); });
  }
  table.add_rule();
  const std::string coverage = total_coverage(model.traces.front().any().info);
  // "batch of 64" is shown only if it holds for all traces.
  const std::int64_t batch = model.traces.front().any().batch;
  const bool same =
      std::ranges::all_of(model.traces, [&](const TraceRuns& trace) { return trace.any().batch == batch; });
  row((same ? fmt::format("all, batch of {}", batch) : "all, whole batches") + coverage,
      [](const Totals& of) { return of.all; });
  return table.render(style);
}

// Where memory decides cycles, the bound of an operation is worth a column.
bool has_modelled_memory(const RunResult* run) { return run != nullptr && waits_for_memory(*run) == true; }

std::string layer_table(const TraceRuns& trace, const std::vector<std::string>& archs,
                        const TextStyle& style) {
  std::vector<TableColumn> columns{
      {"layer", Align::kLeft}, {"shape", Align::kLeft}, {"operation", Align::kLeft}};
  for (std::size_t i = 0; i < archs.size(); ++i) {
    columns.push_back({"skips", Align::kLeft, archs[i]});
    columns = with_groups(std::move(columns), {cycle_columns(archs[i])});
    if (style.bars) columns.push_back({"", Align::kLeft, archs[i]});
    if (has_modelled_memory(trace.runs[i])) columns.push_back({"bound by", Align::kLeft, archs[i]});
  }
  TextTable table(std::move(columns));
  // The largest speedup from zeros of any machine: bars of all machines have one scale.
  double most = 1;
  for (const RunResult* run : trace.runs) {
    if (run == nullptr) continue;
    for (std::size_t i = 0; i < run->layers.size(); ++i) {
      for (std::size_t j = 0; j < run->layers[i].ops.size(); ++j)
        most = std::max(most, run->cycles_of(i, j).speedup_from_zeros());
    }
  }
  const RunResult& first = trace.any();
  for (std::size_t i = 0; i < first.layers.size(); ++i) {
    for (std::size_t j = 0; j < first.layers[i].ops.size(); ++j) {
      const LayerResult& layer = first.layers[i];
      std::vector<std::string> cells{j == 0 ? layer.name : "", j == 0 ? layer.shape : "",
                                     std::string(operation_name(layer.ops[j].op))};
      for (const RunResult* run : trace.runs) {
        if (run == nullptr) {
          cells.insert(cells.end(), 1 + cycle_columns("").titles.size(), "-");
          if (style.bars) cells.emplace_back();
          continue;
        }
        const OpResult& op = run->layers[i].ops[j];
        cells.emplace_back(scheduled_name(op.scheduled));
        append_cycles(cells, run->cycles_of(i, j));
        if (style.bars) cells.push_back(bar_text(run->cycles_of(i, j).speedup_from_zeros(), most));
        if (has_modelled_memory(run)) cells.emplace_back(op.activity ? bound_name(op.activity->bound) : "-");
      }
      table.add_row(std::move(cells));
    }
  }
  return table.render(style);
}

// From zeros by operation and of all; then the speedup over the baseline.
std::vector<TableColumn> speedup_columns(std::vector<TableColumn> columns,
                                         const std::vector<std::string>& archs) {
  std::vector<ColumnGroup> groups;
  for (const std::string& arch : archs)
    groups.push_back({arch, {"forward", "input_grad", "weight_grad", "all", "speedup"}});
  return with_groups(std::move(columns), groups);
}

constexpr std::size_t kSpeedupColumns = 5;
using Speedups = std::array<double, kSpeedupColumns>;  // 0: without cycles

Speedups speedups(const Totals& totals) {
  return {totals.forward.speedup_from_zeros(), totals.input_grad.speedup_from_zeros(),
          totals.weight_grad.speedup_from_zeros(), totals.all.speedup_from_zeros(), totals.all.speedup()};
}

void append_speedups(std::vector<std::string>& cells, const Totals& totals) {
  for (const double speedup : speedups(totals)) cells.push_back(speedup > 0 ? ratio_text(speedup) : "-");
}

std::string percent(const std::optional<double>& share, int digits) {
  return share ? fmt::format("{:.{}f} %", *share * 100, digits) : "-";
}

std::string progress_table(const ModelRuns& model, const std::vector<std::string>& archs,
                           const TextStyle& style) {
  TextTable table(speedup_columns({{"progress"}, {"accuracy"}, {"trace", Align::kLeft}}, archs));
  for (const TraceRuns& trace : model.traces) {
    const TraceInfo& info = trace.any().info;
    std::vector<std::string> cells{percent(info.progress, 0), percent(info.accuracy, 1),
                                   file_name(trace.trace)};
    for (const RunResult* run : trace.runs)
      append_speedups(cells, run != nullptr ? run->per_batch() : Totals{});
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

// Remarks of the machines about their runs, one line each.
std::string remarks(const ModelRuns& model) {
  std::string text;
  for (const TraceRuns& trace : model.traces) {
    for (const RunResult* run : trace.runs) {
      if (run == nullptr || run->remark.empty()) continue;
      const std::string of = model.traces.size() > 1 ? fmt::format(" ({})", file_name(trace.trace)) : "";
      text += fmt::format("{}{}: {}\n", run->arch, printable(of), printable(run->remark));
    }
  }
  return text.empty() ? text : "\n" + text;
}

// Where the speedup of a model is not what zeros give.
std::string warnings(const ModelRuns& model, const std::vector<std::string>& archs) {
  std::string text;
  for (std::size_t arch = 0; arch < archs.size(); ++arch) {
    const CycleComparison all = sum_batches(model, arch).all;
    if (!(all.speedup_without_zeros() > kWarnWithoutZeros)) continue;
    text += fmt::format(
        "warning: {}: its speedup of {}x includes {}x that it has without any zero (empty lanes); zeros give "
        "{}x\n",
        archs[arch], ratio_text(all.speedup()), ratio_text(all.speedup_without_zeros()),
        ratio_text(all.speedup_from_zeros()));
  }
  return text.empty() ? text : "\n" + text;
}

std::string model_table(const Sorted& sorted, const TextStyle& style) {
  TextTable table(speedup_columns({{"model", Align::kLeft}}, sorted.archs));
  std::vector<double> sums(sorted.archs.size() * kSpeedupColumns, 0);
  std::vector<int> counts(sums.size(), 0);
  for (const ModelRuns& model : sorted.models) {
    std::vector<std::string> cells{model.model + total_coverage(model.traces.front().any().info)};
    for (std::size_t arch = 0; arch < sorted.archs.size(); ++arch) {
      const Totals totals = sum_batches(model, arch);
      append_speedups(cells, totals);
      const Speedups of_model = speedups(totals);
      for (std::size_t i = 0; i < kSpeedupColumns; ++i) {
        sums[arch * kSpeedupColumns + i] += of_model[i];
        counts[arch * kSpeedupColumns + i] += of_model[i] > 0 ? 1 : 0;
      }
    }
    table.add_row(std::move(cells));
  }
  std::vector<std::string> mean{"mean"};
  for (std::size_t i = 0; i < sums.size(); ++i) mean.push_back(ratio_text(sums[i], counts[i]));
  table.add_rule();
  table.add_row(std::move(mean));
  return table.render(style);
}

// Says why a table has no rows, or no input_grad: the first layer has none.
std::string why_nothing(const RunResult& run) {
  std::size_t all = 0;
  for (const LayerResult& layer : run.layers) all += layer.ops.size();
  const bool only = run.layers.size() == 1;
  if (all == 0) {
    return fmt::format(
        "\nnothing to simulate: {} ran none of these operations. The first layer of a network has no\n"
        "input_grad: nobody needs the gradient of its input.\n",
        only ? "the only layer" : "the layers");
  }
  const auto& ops = run.layers.front().ops;
  const bool trained =
      std::ranges::any_of(ops, [](const OpResult& op) { return op.op == Operation::kWeightGrad; });
  return only && trained && ops.size() == 2
             ? "\nno input_grad: the only layer is the first of its network, whose input has no gradient.\n"
             : "";
}

}  // namespace

std::string trace_title(const TraceInfo& info) {
  std::string text = printable(info.model);
  if (!info.dataset.empty()) text += " on " + printable(info.dataset);
  if (info.progress) text += ", progress " + percent(info.progress, 0);
  if (info.accuracy) text += ", accuracy " + percent(info.accuracy, 1);
  if (info.loss) text += fmt::format(", loss {:.3f}", *info.loss);
  if (!info.left_out.empty()) text += ", " + coverage_text(info);
  return text;
}

std::string result_tables(const std::vector<RunResult>& runs, bool layers, const TextStyle& style) {
  const Sorted sorted = sort_runs(runs);
  std::string text;
  const auto section = [&](const std::string& title, const std::string& body) {
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", bold_text(title, style), body);
  };
  for (const ModelRuns& model : sorted.models) {
    const RunResult& first = model.traces.front().any();
    if (model.traces.size() == 1) {
      section(fmt::format("{} ({}, {})", trace_title(first.info), printable(first.trace),
                          counted(static_cast<std::int64_t>(first.layers.size()), "layer")),
              operation_table(model, sorted.archs, style));
    } else {
      section(fmt::format("{}, {} traces together", printable(model.model), model.traces.size()),
              operation_table(model, sorted.archs, style));
      section(fmt::format("{}, speedup from zeros by progress of the training", printable(model.model)),
              progress_table(model, sorted.archs, style));
    }
    text += warnings(model, sorted.archs);
    text += remarks(model);
    text += why_nothing(first);
    if (!layers) continue;
    for (const TraceRuns& trace : model.traces) {
      const bool samples = std::ranges::any_of(
          trace.any().layers, [](const LayerResult& layer) { return layer.batch_scale > 1; });
      section(fmt::format("{}, by layer{}", trace_title(trace.any().info),
                          samples ? ", of the samples recorded" : ""),
              layer_table(trace, sorted.archs, style));
    }
  }
  if (sorted.models.size() > 1) section("Speedup from zeros of every model", model_table(sorted, style));
  const bool compared =
      std::ranges::any_of(runs, [](const RunResult& run) { return run.baseline != nullptr; });
  text += mixed_memory_warning(runs);
  if (compared) text += kSpeedupLegend;
  return text;
}

}  // namespace lacuna
