#include "sweep/store/schema.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <type_traits>

#include "base/error.hpp"
#include "sweep/store/result_columns.hpp"

namespace lacuna::sweep {
namespace {

template <typename Value>
std::string_view sql_type() {
  if constexpr (std::is_same_v<Value, std::optional<double>>) {
    return "REAL";
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return "TEXT NOT NULL";
  } else {
    return std::is_integral_v<Value> ? "INTEGER NOT NULL" : "REAL NOT NULL";
  }
}

// "name TYPE, ..." of a record's columns.
template <typename Record>
std::string declared() {
  std::vector<std::string> lines;
  const Record record;
  each_column(record, [&](const auto& column, const auto& value) {
    lines.push_back(fmt::format("{} {}{}", column.name, sql_type<std::remove_cvref_t<decltype(value)>>(),
                                column.constraint));
  });
  return fmt::format("{}", fmt::join(lines, ",\n  "));
}

template <typename Columns>
std::string declared(const Columns& columns) {
  std::vector<std::string> lines;
  for (const auto& column : columns) lines.push_back(fmt::format("{} {}", column.name, column.type));
  return fmt::format("{}", fmt::join(lines, ",\n  "));
}

std::string tables_sql() {
  using fmt::arg;
  return fmt::format(R"sql(
CREATE TABLE programs (
  id INTEGER PRIMARY KEY,
  version TEXT NOT NULL,             -- of lacuna
  results_version INTEGER NOT NULL,  -- raised whenever a change of the program changes its numbers
  assumptions TEXT NOT NULL,         -- docs/assumptions.md of that version
  UNIQUE (version, results_version)
) STRICT;
CREATE TABLE traces (
  id INTEGER PRIMARY KEY,
  {traces}
) STRICT;
CREATE TABLE layers (
  trace INTEGER NOT NULL REFERENCES traces (id),
  layer INTEGER NOT NULL,            -- 0, 1, ... in the order of the network
  {layers},
  PRIMARY KEY (trace, layer)
) STRICT, WITHOUT ROWID;
CREATE TABLE designs (
  id INTEGER PRIMARY KEY,
  program INTEGER NOT NULL REFERENCES programs (id),
  {designs}
) STRICT;
CREATE TABLE results (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,          -- SHA-256 of program, design and trace
  design INTEGER NOT NULL REFERENCES designs (id),
  trace INTEGER NOT NULL REFERENCES traces (id),
  measured INTEGER NOT NULL,         -- 1 cycles + 2 energy + 4 area + 8 memory
  took_seconds REAL NOT NULL,        -- to compute
  computed_at TEXT NOT NULL,
  -- Totals of one training step with the whole batch.
  {points}
) STRICT;
CREATE INDEX results_by_design ON results (design);
CREATE TABLE operation_results (
  point INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
  layer INTEGER NOT NULL,
  operation INTEGER NOT NULL,        -- 0 forward, 1 input_grad, 2 weight_grad
  -- Counts of the samples recorded; joules and bytes of the whole batch.
  {operations},
  PRIMARY KEY (point, layer, operation)
) STRICT, WITHOUT ROWID;
CREATE TABLE failures (
  {failures},
  program INTEGER NOT NULL REFERENCES programs (id),
  failed_at TEXT NOT NULL
) STRICT;
CREATE TABLE swept_parameters (
  name TEXT NOT NULL PRIMARY KEY     -- a column of the view 'points'
) STRICT;
CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY,
  program INTEGER NOT NULL REFERENCES programs (id),
  plan TEXT NOT NULL,                -- as it was written
  started_at TEXT NOT NULL,
  ended_at TEXT,                     -- NULL: it was stopped or killed
  points INTEGER NOT NULL,           -- that the plan asks for
  computed INTEGER NOT NULL DEFAULT 0
) STRICT;
)sql",
                     arg("traces", declared<TraceRecord>()), arg("layers", declared<LayerRecord>()),
                     arg("designs", declared<DesignRecord>()), arg("points", declared(point_columns())),
                     arg("operations", declared(operation_columns())),
                     arg("failures", declared<FailureRecord>()));
}

// Adds columns that the table of an older program lacks.
template <typename Columns>
bool add_missing(const Sqlite& connection, std::string_view table, const Columns& columns) {
  const std::vector<std::string> names = connection.texts("SELECT name FROM pragma_table_info(?1)", table);
  bool added = false;
  for (const auto& column : columns) {
    if (std::ranges::find(names, column.name) != names.end()) continue;
    connection.execute(fmt::format("ALTER TABLE {} ADD COLUMN {} {}", table, column.name, column.type));
    added = true;
  }
  return added;
}

struct NamedSql {
  std::string_view name, sql;
};
// Columns of `points` that identify a point: before the parameters, and after the metrics.
constexpr std::array kPointNames{NamedSql{"point", "r.id"},        NamedSql{"network", "t.network"},
                                 NamedSql{"trace", "t.name"},      NamedSql{"design", "d.id"},
                                 NamedSql{"machine", "d.machine"}, NamedSql{"parameters", "d.parameters"}};
constexpr std::array kPointDetails{NamedSql{"training_progress", "t.progress"},
                                   NamedSql{"batch", "t.batch"},
                                   NamedSql{"model", "d.model"},
                                   NamedSql{"energy_table", "d.energy_table"},
                                   NamedSql{"node_nm", "d.node_nm"},
                                   NamedSql{"program", "p.version || '/' || p.results_version"},
                                   NamedSql{"configuration", "d.configuration"},
                                   NamedSql{"trace_sha256", "t.sha256"},
                                   NamedSql{"key", "r.key"},
                                   NamedSql{"computed_at", "r.computed_at"}};
// Those of the other views.
constexpr std::array kOtherNames{"traces", "layer", "shape", "operation", "macs", "bound", "best_of_smaller"};

template <typename List>
std::string selected(const List& columns) {
  std::vector<std::string> lines;
  for (const auto& column : columns) lines.push_back(fmt::format("{} AS {}", column.sql, column.name));
  return fmt::format("{}", fmt::join(lines, ",\n  "));
}

constexpr std::string_view kDropViews =
    "DROP VIEW IF EXISTS pareto; DROP VIEW IF EXISTS by_network; DROP VIEW IF EXISTS operations; "
    "DROP VIEW IF EXISTS points;";

// One row per point: a design on a trace.
constexpr std::string_view kPoints = R"sql(
CREATE VIEW points AS SELECT
  {names},{parameters}
  {metrics},
  {details}
FROM results r
JOIN traces t ON t.id = r.trace
JOIN designs d ON d.id = r.design
JOIN programs p ON p.id = d.program;
)sql";

// One row per design and network: its traces added up.
constexpr std::string_view kByNetwork = R"sql(
CREATE VIEW by_network AS SELECT
  network, design, machine, parameters,{parameters}
  count(*) AS traces,
  {metrics},
  program
FROM points GROUP BY network, design;
)sql";

// The designs of each network that no smaller or equally large one beats in speedup.
constexpr std::string_view kPareto = R"sql(
CREATE VIEW pareto AS SELECT
  network, program, area_mm2, speedup, design, machine, parameters,{parameters}
  cycles, energy_joules, energy_delay
FROM (SELECT *, max(speedup) OVER (
        PARTITION BY network, program ORDER BY area_mm2, speedup DESC, design
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_of_smaller
      FROM by_network WHERE area_mm2 IS NOT NULL)
WHERE best_of_smaller IS NULL OR speedup > best_of_smaller
ORDER BY network, program, area_mm2;
)sql";

// One row per point, layer and operation, in numbers of the whole batch.
constexpr std::string_view kOperations = R"sql(
CREATE VIEW operations AS SELECT
  o.point AS point, points.network AS network, points.trace AS trace, points.design AS design,
  points.machine AS machine, points.parameters AS parameters,
  l.name AS layer, l.shape AS shape,
  CASE o.operation WHEN 0 THEN 'forward' WHEN 1 THEN 'input_grad' ELSE 'weight_grad' END AS operation,
  o.cycles * l.batch_scale AS cycles,
  o.baseline_cycles * l.batch_scale AS baseline_cycles,
  1.0 * o.baseline_cycles / nullif(o.cycles, 0) AS speedup,
  1.0 * o.cycles_without_zeros / nullif(o.cycles, 0) AS speedup_from_zeros,
  l.macs * l.batch_scale AS macs,
  1.0 * o.scheduled_macs / nullif(l.macs, 0) AS scheduled_share,
  1.0 * o.effectual_macs / nullif(l.macs, 0) AS effectual_share,
  o.energy_joules AS energy_joules,
  o.baseline_energy_joules / nullif(o.energy_joules, 0) AS energy_efficiency,
  o.bound AS bound, o.dram_bytes AS dram_bytes{others}
FROM operation_results o
JOIN results r ON r.id = o.point
JOIN points ON points.point = o.point
JOIN layers l ON l.trace = r.trace AND l.layer = o.layer;
)sql";

// Columns of operations that kOperations does not name.
std::string other_operation_columns() {
  std::string text;
  for (const OpField& field : kOpFields) {
    const auto column = std::ranges::find(operation_columns(), field.name, &OperationColumn::name);
    if (column == operation_columns().end()) continue;
    if (kOperations.find(fmt::format(" AS {},", field.name)) != std::string_view::npos) continue;
    const bool scaled = field.scope == FieldScope::kSamples;
    text += fmt::format(",\n  o.{0}{1} AS {0}", field.name, scaled ? " * l.batch_scale" : "");
  }
  return text;
}

// A name as an identifier and as a member of a JSON path; names of parameters hold neither kind of quote.
std::string identifier(std::string_view name) { return fmt::format("\"{}\"", name); }

}  // namespace

const std::vector<MetricColumn>& metric_columns() {
  static const std::vector<MetricColumn> kMetrics = [] {
    std::vector<MetricColumn> all = {
        {"cycles", "cycles", "r.cycles", "sum(cycles)"},
        {"baseline_cycles", "cycles", "r.baseline_cycles", ""},
        {"speedup", "x", "r.baseline_cycles / nullif(r.cycles, 0)",
         "sum(baseline_cycles) / nullif(sum(cycles), 0)"},
        {"speedup_from_zeros", "x", "r.cycles_without_zeros / nullif(r.cycles, 0)",
         "sum(speedup_from_zeros * cycles) / nullif(sum(cycles), 0)"},
        {"seconds", "s", "r.seconds", "sum(seconds)"},
        {"energy_joules", "J", "r.energy_joules", "sum(energy_joules)"},
        {"energy_efficiency", "", "r.baseline_energy_joules / nullif(r.energy_joules, 0)",
         "sum(energy_efficiency * energy_joules) / nullif(sum(energy_joules), 0)"},
        {"compute_energy_joules", "J", "r.compute_energy_joules", ""},
        {"compute_efficiency", "", "r.baseline_compute_energy_joules / nullif(r.compute_energy_joules, 0)",
         ""},
        {"energy_delay", "J s", "r.energy_joules * r.seconds", "sum(energy_joules) * sum(seconds)"},
        {"watts", "W", "r.energy_joules / nullif(r.seconds, 0)",
         "sum(energy_joules) / nullif(sum(seconds), 0)"},
        {"area_mm2", "mm²", "d.area_mm2", "area_mm2"},
        {"area_ratio", "", "d.area_mm2 / nullif(d.baseline_area_mm2, 0)", "area_ratio"},
        {"dram_bytes", "bytes", "r.dram_read_bytes + r.dram_write_bytes", "sum(dram_bytes)"},
        {"cycles_with_ideal_memory", "cycles", "r.compute_cycles", ""}};
    // The other counts of operations.
    for (const OpField& field : kOpFields) {
      const auto column = std::ranges::find(point_columns(), field.name, &PointColumn::name);
      if (column == point_columns().end()) continue;
      const std::string name(field.name);
      if (std::ranges::find(all, name, &MetricColumn::name) != all.end()) continue;
      all.push_back({name, std::string(field.unit), "r." + name, fmt::format("sum({})", name)});
    }
    return all;
  }();
  return kMetrics;
}

bool is_identity_column(std::string_view name) {
  return std::ranges::find(kPointNames, name, &NamedSql::name) != kPointNames.end() ||
         std::ranges::find(kPointDetails, name, &NamedSql::name) != kPointDetails.end() ||
         std::ranges::find(kOtherNames, name) != kOtherNames.end();
}

bool is_parameter_column(const std::string& name) {
  return !name.empty() && !is_identity_column(name) &&
         std::ranges::find(metric_columns(), name, &MetricColumn::name) == metric_columns().end() &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

std::string insert_sql(std::string_view verb, std::string_view table, const std::vector<std::string>& names) {
  std::string places;
  for (std::size_t i = 1; i <= names.size(); ++i) places += fmt::format("{}?{}", i > 1 ? ", " : "", i);
  return fmt::format("{} INTO {} ({}) VALUES ({})", verb, table, fmt::join(names, ", "), places);
}

void migrate(const Sqlite& connection) {
  // Another process may be creating the same file, so everything happens inside the transaction.
  Transaction transaction(connection);
  const bool empty = connection.integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (empty) {
    connection.execute(tables_sql());
    connection.execute(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, kSchemaVersion));
  }
  check_schema(connection);
  const bool points = add_missing(connection, "results", point_columns());
  const bool operations = add_missing(connection, "operation_results", operation_columns());
  if (empty || points || operations) create_views(connection);
  transaction.commit();
}

void check_schema(const Sqlite& connection) {
  if (connection.integer("PRAGMA application_id") != kApplicationId) {
    throw InputError(connection.file(), "this database was not written by 'lacuna sweep'",
                     "name another file");
  }
  const std::int64_t version = connection.integer("PRAGMA user_version");
  if (version == kSchemaVersion) return;
  throw InputError(connection.file(),
                   fmt::format("its schema is version {}, this program reads {}", version, kSchemaVersion),
                   "use the version of lacuna that wrote it, or name another file");
}

void create_views(const Sqlite& connection) {
  std::string extracted, listed;
  for (const std::string& name : connection.texts("SELECT name FROM swept_parameters ORDER BY name")) {
    if (!is_parameter_column(name)) continue;
    extracted += fmt::format("\n  json_extract(d.configuration, '$.{0}') AS {0},", identifier(name));
    listed += fmt::format(" {},", identifier(name));
  }
  std::vector<NamedSql> of_point, of_network;
  for (const MetricColumn& metric : metric_columns()) {
    of_point.push_back({metric.name, metric.of_point});
    if (!metric.of_network.empty()) of_network.push_back({metric.name, metric.of_network});
  }
  using fmt::arg;
  connection.execute(kDropViews);
  connection.execute(fmt::format(kPoints, arg("names", selected(kPointNames)), arg("parameters", extracted),
                                 arg("metrics", selected(of_point)),
                                 arg("details", selected(kPointDetails))));
  connection.execute(
      fmt::format(kByNetwork, arg("parameters", listed), arg("metrics", selected(of_network))));
  connection.execute(fmt::format(kPareto, arg("parameters", listed)));
  connection.execute(fmt::format(kOperations, arg("others", other_operation_columns())));
}

}  // namespace lacuna::sweep
