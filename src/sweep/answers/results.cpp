#include "sweep/answers/results.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "sweep/answers/design_settings.hpp"
#include "sweep/store/database.hpp"

namespace lacuna::sweep {

namespace {

// Columns of by_network that are not numbers measured.
bool is_metric_column(const std::string& name, const std::vector<std::string>& swept) {
  static const std::set<std::string> kOthers = {"network",    "design", "machine",
                                                "parameters", "traces", "program"};
  return !kOthers.contains(name) && std::ranges::find(swept, name) == swept.end();
}

std::string choose_program(const Reader& reader, const std::string& file, Results& results,
                           const std::string& wanted) {
  std::vector<std::string> programs = reader.programs();
  if (programs.empty()) return {};
  if (!wanted.empty() && std::ranges::find(programs, wanted) == programs.end()) {
    throw InputError(file, fmt::format("it holds no results of program {}", quote_name(wanted)),
                     suggest(wanted, programs));
  }
  // The latest that has results: a file may have been opened by a newer program that computed nothing.
  Statement points = reader.prepare("SELECT program FROM points GROUP BY program");
  std::set<std::string> filled;
  while (points.step()) filled.insert(points.text(0));
  std::string chosen = wanted;
  for (const std::string& program : programs) {
    if (chosen.empty() && filled.contains(program)) chosen = program;
  }
  for (const std::string& program : programs) {
    if (program != chosen && filled.contains(program)) results.other_programs.push_back(program);
  }
  return chosen;
}

std::map<std::int64_t, std::size_t> read_designs(const Reader& reader, Results& results) {
  Statement designs = reader.prepare(
      "SELECT d.id, d.machine, d.parameters, d.configuration, d.model, d.energy_table, d.node_nm FROM "
      "designs d "
      "JOIN programs p ON p.id = d.program WHERE p.version || '/' || p.results_version = ?1 ORDER BY d.id");
  designs.bind(1, std::string_view(results.program));
  std::map<std::int64_t, std::size_t> index;
  while (designs.step()) {
    ResultDesign design{designs.integer(0), designs.text(1), designs.text(2),
                        settings_of(designs.text(3), designs.text(1), designs.text(4))};
    if (!designs.text(5).empty()) design.settings["energy_table"] = designs.text(5);
    if (!designs.is_null(6)) design.settings["node_nm"] = designs.number(6);
    index[design.id] = results.designs.size();
    results.designs.push_back(std::move(design));
  }
  return index;
}

// Columns are found by their names, so that a metric the view gains is one here.
void read_rows(const Reader& reader, Results& results, const std::map<std::int64_t, std::size_t>& designs,
               const std::vector<std::string>& wanted) {
  const std::vector<std::string> swept = reader.swept_parameters();
  Statement rows = reader.prepare("SELECT * FROM by_network WHERE program = ?1 ORDER BY network, design");
  rows.bind(1, std::string_view(results.program));
  int network_column = -1;
  int design_column = -1;
  int traces_column = -1;
  std::vector<int> metric_columns;
  for (int i = 0; i < rows.columns(); ++i) {
    const std::string name = rows.name(i);
    if (name == "network") network_column = i;
    if (name == "design") design_column = i;
    if (name == "traces") traces_column = i;
    if (!is_metric_column(name, swept)) continue;
    metric_columns.push_back(i);
    results.metrics.push_back(name);
  }
  std::vector<std::int64_t> traces;  // per row
  std::vector<std::int64_t> most;    // per network
  while (rows.step()) {
    const std::string network = rows.text(network_column);
    const auto known = std::ranges::find(results.networks, network);
    const auto at = static_cast<std::size_t>(known - results.networks.begin());
    if (known == results.networks.end()) {
      results.networks.push_back(network);
      most.push_back(0);
    }
    ResultRow row{designs.at(rows.integer(design_column)), at};
    for (const int column : metric_columns) row.metrics.push_back(rows.number(column));
    traces.push_back(rows.integer(traces_column));
    most[at] = std::max(most[at], traces.back());
    results.rows.push_back(std::move(row));
  }
  for (const std::string& network : wanted) {
    if (std::ranges::find(results.networks, network) == results.networks.end()) {
      throw InputError(results.file, fmt::format("it holds no results of network {}", quote_name(network)),
                       suggest(network, results.networks));
    }
  }
  // A sum over fewer traces than others have is not comparable.
  std::vector<ResultRow> kept;
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    const std::size_t network = results.rows[i].network;
    if (!wanted.empty() && std::ranges::find(wanted, results.networks[network]) == wanted.end()) continue;
    if (traces[i] == most[network]) {
      kept.push_back(std::move(results.rows[i]));
    } else {
      ++results.left_out;
    }
  }
  results.rows = std::move(kept);
  if (wanted.empty()) return;
  std::vector<std::string> names;
  std::vector<std::size_t> renumbered(results.networks.size(), 0);
  for (std::size_t i = 0; i < results.networks.size(); ++i) {
    if (std::ranges::find(wanted, results.networks[i]) == wanted.end()) continue;
    renumbered[i] = names.size();
    names.push_back(results.networks[i]);
  }
  results.networks = std::move(names);
  for (ResultRow& row : results.rows) row.network = renumbered[row.network];
}

// Designs that no row is of would count as values tried.
void drop_unused_designs(Results& results) {
  std::vector<std::size_t> renumbered(results.designs.size(), results.designs.size());
  std::vector<ResultDesign> used;
  for (ResultRow& row : results.rows) {
    if (renumbered[row.design] == results.designs.size()) {
      renumbered[row.design] = used.size();
      used.push_back(std::move(results.designs[row.design]));
    }
    row.design = renumbered[row.design];
  }
  results.designs = std::move(used);
}

void find_parameters(const Reader& reader, Results& results) {
  std::vector<std::string> candidates = {"machine"};
  for (const std::string& name : reader.swept_parameters()) candidates.push_back(name);
  candidates.insert(candidates.end(), {"energy_table", "node_nm"});
  for (const std::string& name : candidates) {
    std::set<Value> values;
    for (const ResultDesign& design : results.designs) {
      const Value value = design.setting(name);
      if (!std::holds_alternative<std::monostate>(value)) values.insert(value);
    }
    if (values.size() > 1) results.parameters.push_back(name);
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

std::vector<std::string> Results::known_names() const {
  std::set<std::string> settings;
  for (const ResultDesign& design : designs) {
    for (const auto& [name, value] : design.settings) settings.insert(name);
  }
  // Those that people ask for first.
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
  const std::map<std::int64_t, std::size_t> designs = read_designs(reader, results);
  read_rows(reader, results, designs, selection.networks);
  if (results.rows.empty()) {
    throw InputError(results.file, "it holds no results yet",
                     "compute some: lacuna sweep PLAN.yaml -o RESULTS.sqlite");
  }
  drop_unused_designs(results);
  drop_empty_metrics(results);
  find_parameters(reader, results);
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
      // The area is the same on every network, to the last digit.
      const bool equal = std::ranges::all_of(values, [&](double value) { return value == values[0]; });
      mean.metrics.push_back(equal ? values[0] : geometric_mean(values));
    }
    means.push_back(std::move(mean));
  }
  return means;
}

}  // namespace lacuna::sweep
