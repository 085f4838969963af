#include <fmt/format.h>

#include "report/compare/comparison.hpp"
#include "report/short_text.hpp"

namespace lacuna {
namespace {

std::string or_absent(const std::string& value) { return value.empty() ? "(none)" : value; }

std::vector<TableColumn> change_columns(std::vector<TableColumn> columns) {
  return with_groups(
      std::move(columns),
      {{"cycles", {"A", "B", "B/A"}}, {"speedup from zeros", {"A", "B"}}, {"speedup", {"A", "B"}}});
}

void append_change(std::vector<std::string>& cells, const CycleComparison& a, const CycleComparison& b) {
  cells.push_back(rounded_digits(a.cycles));
  cells.push_back(rounded_digits(b.cycles));
  cells.push_back(a.cycles > 0 ? fmt::format("{:.4f}", b.cycles / a.cycles) : "-");
  cells.push_back(ratio_text(a.cycles_without_zeros, a.cycles));
  cells.push_back(ratio_text(b.cycles_without_zeros, b.cycles));
  cells.push_back(ratio_text(a.baseline_cycles, a.cycles));
  cells.push_back(ratio_text(b.baseline_cycles, b.cycles));
}

std::string totals_table(const RunComparison& run, const TextStyle& style) {
  TextTable table(change_columns({{"operation", Align::kLeft}}));
  const Totals a = run.a->per_batch();
  const Totals b = run.b->per_batch();
  for (const Operation op : kOperations) {
    std::vector<std::string> cells{std::string(operation_name(op))};
    append_change(cells, a.of(op), b.of(op));
    table.add_row(std::move(cells));
  }
  table.add_rule();
  std::vector<std::string> all{"all"};
  append_change(all, a.all, b.all);
  table.add_row(std::move(all));
  return table.render(style);
}

// Joules of the machines, by operation.
std::string energy_table(const RunComparison& run, const TextStyle& style) {
  TextTable table(with_groups({{"operation", Align::kLeft}}, {{"energy of a batch, mJ", {"A", "B", "B/A"}}}));
  const auto row = [&](std::string name, double a, double b) {
    table.add_row({std::move(name), fmt::format("{:.3f}", a * 1e3), fmt::format("{:.3f}", b * 1e3),
                   a > 0 ? fmt::format("{:.4f}", b / a) : "-"});
  };
  for (const Operation op : kOperations) {
    row(std::string(operation_name(op)), run.energy_a->by_operation[op].machine,
        run.energy_b->by_operation[op].machine);
  }
  table.add_rule();
  row("all", run.energy_a->all.machine, run.energy_b->all.machine);
  return table.render(style);
}

std::string changes_table(const RunComparison& run, std::size_t limit, const TextStyle& style) {
  auto columns = change_columns({{"layer", Align::kLeft}, {"operation", Align::kLeft}});
  columns.push_back({"what changed", Align::kLeft, " "});
  TextTable table(std::move(columns));
  const std::size_t shown = limit == 0 ? run.changes.size() : std::min(limit, run.changes.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const OpChange& change = run.changes[i];
    std::vector<std::string> cells{change.layer, std::string(operation_name(change.op))};
    append_change(cells, change.a, change.b);
    cells.push_back(fmt::format("{}", fmt::join(change.fields, ", ")));
    table.add_row(std::move(cells));
  }
  std::string text = table.render(style);
  if (shown < run.changes.size())
    text += fmt::format("... and {} more (--limit 0 shows all)\n", run.changes.size() - shown);
  return text;
}

std::string run_title(const RunResult& run) {
  return fmt::format("{} on {} ({})", printable(run.info.model), printable(run.arch), printable(run.trace));
}

void append_run(std::string& text, const RunComparison& run, std::size_t limit, const TextStyle& style) {
  text += fmt::format("\n{}\n", bold_text(run_title(*run.a), style));
  for (const SettingChange& setting : run.settings) {
    text += fmt::format("  {}: {} in A, {} in B\n", printable(setting.name), printable(or_absent(setting.a)),
                        printable(or_absent(setting.b)));
  }
  if (!run.differs()) {
    text += fmt::format("  no difference in {} operations\n", run.operations);
    return;
  }
  text += totals_table(run, style);
  if (run.energy_a) text += fmt::format("\n{}", energy_table(run, style));
  for (const std::string& name : run.only_a) text += fmt::format("only in A: {}\n", printable(name));
  for (const std::string& name : run.only_b) text += fmt::format("only in B: {}\n", printable(name));
  if (run.changes.empty()) return;
  text += fmt::format("\n{} of {} operations differ; the largest change of cycles first\n",
                      run.changes.size(), run.operations);
  text += changes_table(run, limit, style);
}

Json change_json(const CycleComparison& a, const CycleComparison& b) {
  Json value{{"a", cycles_json(a)}, {"b", cycles_json(b)}};
  value["ratio"] = a.cycles > 0 ? Json(b.cycles / a.cycles) : Json();
  return value;
}

Json run_json(const RunComparison& run) {
  Json value{{"trace", run.a->trace},
             {"model", run.a->info.model},
             {"arch", run.a->arch},
             {"differs", run.differs()}};
  value["settings"] = Json::array();
  for (const SettingChange& setting : run.settings) {
    value["settings"].push_back({{"name", setting.name}, {"a", setting.a}, {"b", setting.b}});
  }
  const Totals a = run.a->total();
  const Totals b = run.b->total();
  for (const Operation op : kOperations)
    value["total"][std::string(operation_name(op))] = change_json(a.of(op), b.of(op));
  value["total"]["all"] = change_json(a.all, b.all);
  if (run.energy_a) {
    const auto joules = [](double x, double y) {
      Json pair{{"a", x}, {"b", y}};
      pair["ratio"] = x > 0 ? Json(y / x) : Json();
      return pair;
    };
    for (const Operation op : kOperations) {
      value["energy"][std::string(operation_name(op))] =
          joules(run.energy_a->by_operation[op].machine, run.energy_b->by_operation[op].machine);
    }
    value["energy"]["all"] = joules(run.energy_a->all.machine, run.energy_b->all.machine);
  }
  value["changes"] = Json::array();
  for (const OpChange& change : run.changes) {
    Json entry{
        {"layer", change.layer}, {"op", std::string(operation_name(change.op))}, {"fields", change.fields}};
    entry.update(change_json(change.a, change.b));
    value["changes"].push_back(std::move(entry));
  }
  value["only_a"] = run.only_a;
  value["only_b"] = run.only_b;
  return value;
}

Json names_json(const std::vector<const RunResult*>& runs) {
  Json list = Json::array();
  for (const RunResult* run : runs)
    list.push_back({{"trace", run->trace}, {"model", run->info.model}, {"arch", run->arch}});
  return list;
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const ComparedFiles& files, std::size_t limit,
                            const TextStyle& style) {
  std::string text = fmt::format("A: {} (lacuna {})\nB: {} (lacuna {})\n", printable(files.a),
                                 printable(files.version_a), printable(files.b), printable(files.version_b));
  for (const RunComparison& run : comparison.runs) append_run(text, run, limit, style);
  if (!comparison.only_a.empty() || !comparison.only_b.empty()) text += '\n';
  for (const RunResult* run : comparison.only_a) text += fmt::format("only in A: {}\n", run_title(*run));
  for (const RunResult* run : comparison.only_b) text += fmt::format("only in B: {}\n", run_title(*run));
  std::string verdict = comparison.differs() ? "The results differ" : "The results are equal";
  if (files.threshold > 0)
    verdict += fmt::format(" (changes up to {} % are not counted)", files.threshold * 100);
  return text + "\n" + bold_text(verdict, style) + "\n";
}

std::string comparison_json(const Comparison& comparison, const ComparedFiles& files) {
  Json value = json_document(2);
  value["a"] = {{"file", files.a}, {"lacuna", files.version_a}};
  value["b"] = {{"file", files.b}, {"lacuna", files.version_b}};
  value["threshold"] = files.threshold;
  value["differs"] = comparison.differs();
  value["runs"] = Json::array();
  for (const RunComparison& run : comparison.runs) value["runs"].push_back(run_json(run));
  value["only_a"] = names_json(comparison.only_a);
  value["only_b"] = names_json(comparison.only_b);
  return dump_json(value);
}

}  // namespace lacuna
