#include "sweep/answers/point_results.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sweep/answers/design_settings.hpp"
#include "sweep/store/schema.hpp"

namespace lacuna::sweep {

namespace {

constexpr std::string_view kPointByKey = "SELECT * FROM points WHERE key = ?1";

// Columns of `points` that are no metrics, beside the swept parameters.
bool is_point_metric(const std::string& name, const std::vector<std::string>& swept) {
  static constexpr std::array kOthers = {"point",        "network",      "trace",       "design",
                                         "machine",      "parameters",   "batch",       "model",
                                         "energy_table", "node_nm",      "program",     "configuration",
                                         "key",          "trace_sha256", "computed_at", "training_progress"};
  return std::ranges::find(kOthers, name) == kOthers.end() && std::ranges::find(swept, name) == swept.end();
}

std::vector<std::pair<int, std::string>> metric_columns(const Statement& points,
                                                        const std::vector<std::string>& swept) {
  std::vector<std::pair<int, std::string>> columns;
  for (int i = 0; i < points.columns(); ++i) {
    if (is_point_metric(points.name(i), swept)) columns.emplace_back(i, points.name(i));
  }
  return columns;
}

int column_of(const Statement& statement, std::string_view name) {
  for (int i = 0; i < statement.columns(); ++i) {
    if (statement.name(i) == name) return i;
  }
  return -1;
}

}  // namespace

std::vector<std::string> metrics_of_points() {
  const Sqlite empty(":memory:", Sqlite::Access::kCreate);
  migrate(empty);
  std::vector<std::string> names;
  for (const auto& [column, name] : metric_columns(empty.prepare(kPointByKey), {})) names.push_back(name);
  return names;
}

Results read_points(const Reader& reader, const std::vector<std::vector<std::string>>& keys) {
  Statement points = reader.prepare(kPointByKey);
  const std::vector<std::pair<int, std::string>> columns = metric_columns(points, reader.swept_parameters());
  Results results;
  for (const auto& [column, name] : columns) results.metrics.push_back(name);
  for (std::size_t trace = 0; !keys.empty() && trace < keys[0].size(); ++trace) {
    results.networks.push_back(std::to_string(trace));
  }
  for (const std::vector<std::string>& of_design : keys) {
    const std::size_t design = results.designs.size();
    results.designs.emplace_back();
    for (std::size_t trace = 0; trace < of_design.size(); ++trace) {
      points.reset();
      points.bind(1, std::string_view(of_design[trace]));
      if (!points.step()) continue;
      ResultRow row{design, trace};
      for (const auto& [column, name] : columns) row.metrics.push_back(points.number(column));
      results.rows.push_back(std::move(row));
      ResultDesign& known = results.designs[design];
      if (!known.settings.empty()) continue;
      known.id = points.integer(column_of(points, "design"));
      known.machine = points.text(column_of(points, "machine"));
      known.parameters = points.text(column_of(points, "parameters"));
      known.settings = settings_of(points.text(column_of(points, "configuration")), known.machine,
                                   points.text(column_of(points, "model")));
    }
  }
  return results;
}

}  // namespace lacuna::sweep
