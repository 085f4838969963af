#include "sweep/answers/results.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "sweep/store/schema.hpp"

namespace lacuna::sweep {

namespace {

Value value_of_json(const nlohmann::json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return value_of_text(json.get_ref<const std::string&>());
  return {};
}

// Every parameter of a configuration in JSON, machine and model.
std::map<std::string, Value> settings_of(const std::string& configuration, const std::string& machine,
                                         const std::string& model) {
  std::map<std::string, Value> settings;
  const nlohmann::json json = nlohmann::json::parse(configuration, nullptr, false);
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) settings[name] = value_of_json(value);
  }
  settings["machine"] = machine;
  settings["model"] = model;
  return settings;
}

// The metrics among the columns of a view. Found by name, so that a metric the view gains is one here.
class MetricReader {
 public:
  MetricReader(const Reader& reader, const Statement& rows, Results& results) {
    const std::vector<std::string> swept = reader.swept_parameters();
    for (int i = 0; i < rows.columns(); ++i) {
      const std::string name = rows.name(i);
      if (is_identity_column(name) || std::ranges::find(swept, name) != swept.end()) continue;
      columns_.push_back(i);
      results.metrics.push_back(name);
    }
  }
  std::vector<double> read(const Statement& row) const {
    std::vector<double> metrics;
    for (const int column : columns_) metrics.push_back(row.number(column));
    return metrics;
  }

 private:
  std::vector<int> columns_;
};

std::string choose_program(const Reader& reader, const std::string& file, Results& results,
                           const std::string& wanted) {
  const std::vector<std::string> programs = reader.programs();
  if (programs.empty()) return {};
  if (!wanted.empty() && std::ranges::find(programs, wanted) == programs.end()) {
    throw InputError(file, fmt::format("it has no results of program {}", quote_name(wanted)),
                     suggest(wanted, programs));
  }
  // The latest that has results: a file may have been opened by a newer program that computed nothing.
  std::string chosen = wanted;
  for (const std::string& program :
       reader.connection().texts("SELECT version || '/' || results_version FROM programs WHERE id IN (SELECT "
                                 "d.program FROM results r "
                                 "JOIN designs d ON d.id = r.design) ORDER BY id DESC")) {
    if (chosen.empty()) chosen = program;
    if (program != chosen) results.other_programs.push_back(program);
  }
  return chosen;
}

std::map<std::int64_t, ResultDesign> read_designs(const Reader& reader, const std::string& program) {
  Statement rows = reader.prepare(
      "SELECT d.id, d.machine, d.parameters, d.configuration, d.model, d.energy_table, d.node_nm "
      "FROM designs d JOIN programs p ON p.id = d.program WHERE p.version || '/' || p.results_version = ?1",
      program);
  std::map<std::int64_t, ResultDesign> designs;
  while (rows.step()) {
    ResultDesign& design = designs[rows.integer(0)];
    design = {rows.integer(0), rows.text(1), rows.text(2),
              settings_of(rows.text(3), rows.text(1), rows.text(4))};
    if (!rows.text(5).empty()) design.settings["energy_table"] = rows.text(5);
    if (!rows.is_null(6)) design.settings["node_nm"] = rows.number(6);
  }
  return designs;
}

// Rows of the networks `wanted` (empty: all) and the designs that they are of.
void read_rows(const Reader& reader, Results& results, const std::vector<std::string>& wanted) {
  std::map<std::int64_t, ResultDesign> designs = read_designs(reader, results.program);
  Statement rows = reader.prepare(
      "SELECT network, design, traces, max(traces) OVER (PARTITION BY network) AS traces, * "
      "FROM by_network WHERE program = ?1 ORDER BY network, design",
      results.program);
  const MetricReader metrics(reader, rows, results);
  std::vector<std::string> networks;  // of the file
  std::map<std::int64_t, std::size_t> places;
  while (rows.step()) {
    const std::string network = rows.text(0);
    if (networks.empty() || networks.back() != network) networks.push_back(network);
    if (!wanted.empty() && std::ranges::find(wanted, network) == wanted.end()) continue;
    // A sum over fewer traces than others have is not comparable.
    if (rows.integer(2) < rows.integer(3)) {
      ++results.left_out;
      continue;
    }
    if (results.networks.empty() || results.networks.back() != network) results.networks.push_back(network);
    const auto [place, is_new] = places.try_emplace(rows.integer(1), results.designs.size());
    if (is_new) {
      const auto design = designs.find(rows.integer(1));
      if (design == designs.end())
        throw InputError(results.file,
                         fmt::format("it has points of design {}, which is not in it", rows.integer(1)),
                         "the file is damaged: take a copy of it");
      results.designs.push_back(std::move(design->second));
    }
    results.rows.push_back({place->second, results.networks.size() - 1, metrics.read(rows)});
  }
  for (const std::string& network : wanted) {
    if (std::ranges::find(networks, network) == networks.end()) {
      throw InputError(results.file, fmt::format("it has no results of network {}", quote_name(network)),
                       suggest(network, networks));
    }
  }
}

void find_parameters(const Reader& reader, Results& results) {
  std::vector<std::string> candidates = {"machine"};
  for (const std::string& name : reader.swept_parameters()) candidates.push_back(name);
  candidates.insert(candidates.end(), {"energy_table", "node_nm"});
  for (const std::string& name : candidates) {
    if (results.values_of(name).size() > 1) results.parameters.push_back(name);
  }
}

void drop_empty_metrics(Results& results) {
  for (std::size_t i = results.metrics.size(); i-- > 0;) {
    const bool known =
        std::ranges::any_of(results.rows, [&](const ResultRow& row) { return !std::isnan(row.metrics[i]); });
    if (known) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    results.metrics.erase(results.metrics.begin() + at);
    for (ResultRow& row : results.rows) row.metrics.erase(row.metrics.begin() + at);
  }
}

// NaN if one is missing or negative.
double geometric_mean(const std::vector<double>& values) {
  double logs = 0;
  for (const double value : values) {
    if (!(value >= 0)) return std::numeric_limits<double>::quiet_NaN();
    logs += std::log(value);
  }
  return std::exp(logs / static_cast<double>(values.size()));
}

}  // namespace

Value ResultDesign::setting(const std::string& name) const {
  const auto found = settings.find(name);
  return found == settings.end() ? Value{} : found->second;
}

std::size_t Results::metric(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::find(metrics, name) - metrics.begin());
}

std::set<Value> Results::values_of(const std::string& setting) const {
  std::set<Value> values;
  for (const ResultDesign& design : designs) {
    const Value value = design.setting(setting);
    if (!std::holds_alternative<std::monostate>(value)) values.insert(value);
  }
  return values;
}

std::vector<std::string> Results::known_names() const {
  std::set<std::string> settings;
  for (const ResultDesign& design : designs) {
    for (const auto& [name, value] : design.settings) settings.insert(name);
  }
  // The ones that people ask for come first.
  std::vector<std::string> names = metrics;
  names.insert(names.end(), {"network", "design"});
  names.insert(names.end(), parameters.begin(), parameters.end());
  for (const std::string& name : settings) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

Value Results::value(const ResultRow& row, const std::string& name) const {
  const std::size_t at = metric(name);
  if (at < metrics.size()) return row.metrics[at];
  if (name == "design") return static_cast<double>(designs[row.design].id);
  if (name == "network") return row.network == ResultRow::kAllNetworks ? Value{} : networks[row.network];
  return designs[row.design].setting(name);
}

Results read_results(const std::filesystem::path& file, const ResultSelection& selection) {
  const Reader reader(file);
  Results results;
  results.file = file.string();
  results.program = choose_program(reader, results.file, results, selection.program);
  read_rows(reader, results, selection.networks);
  if (results.rows.empty()) {
    throw InputError(results.file, "it has no results yet",
                     "compute some: lacuna sweep PLAN.yaml -o RESULTS.sqlite");
  }
  drop_empty_metrics(results);
  find_parameters(reader, results);
  return results;
}

Results read_points(const Reader& reader, const std::vector<std::vector<std::string>>& keys) {
  Statement point = reader.prepare("SELECT machine, model, configuration, * FROM points WHERE key = ?1");
  Results results;
  const MetricReader metrics(reader, point, results);
  const int design_column = point.column("design");
  const int parameters_column = point.column("parameters");
  for (std::size_t trace = 0; !keys.empty() && trace < keys[0].size(); ++trace) {
    results.networks.push_back(std::to_string(trace));
  }
  for (const std::vector<std::string>& of_design : keys) {
    ResultDesign& design = results.designs.emplace_back();
    for (std::size_t trace = 0; trace < of_design.size(); ++trace) {
      if (!point.bind(of_design[trace]).step()) continue;
      results.rows.push_back({results.designs.size() - 1, trace, metrics.read(point)});
      if (!design.settings.empty()) continue;
      design = {point.integer(design_column), point.text(0), point.text(parameters_column),
                settings_of(point.text(2), point.text(0), point.text(1))};
    }
  }
  return results;
}

std::vector<ResultRow> over_all_networks(const Results& results) {
  std::vector<std::vector<const ResultRow*>> by_design(results.designs.size());
  for (const ResultRow& row : results.rows) by_design[row.design].push_back(&row);
  std::vector<ResultRow> means;
  for (std::size_t design = 0; design < by_design.size(); ++design) {
    const std::vector<const ResultRow*>& rows = by_design[design];
    if (rows.size() < results.networks.size()) continue;
    ResultRow mean{design, ResultRow::kAllNetworks};
    if (rows.size() == 1) mean.metrics = rows[0]->metrics;
    for (std::size_t i = 0; rows.size() > 1 && i < results.metrics.size(); ++i) {
      std::vector<double> values;
      for (const ResultRow* row : rows) values.push_back(row->metrics[i]);
      // The area is exactly the same on every network.
      const bool equal = std::ranges::all_of(values, [&](double value) { return value == values[0]; });
      mean.metrics.push_back(equal ? values[0] : geometric_mean(values));
    }
    means.push_back(std::move(mean));
  }
  return means;
}

}  // namespace lacuna::sweep
