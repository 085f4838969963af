#include "sweep/store/schema.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <type_traits>

#include "base/error.hpp"
#include "base/io/embedded_file.hpp"
#include "sweep/store/result_columns.hpp"
#include "sweep/store/schema_guard.hpp"

namespace lacuna::sweep {

std::span<const EmbeddedFile> embedded_schema();  // cmake/LacunaEmbed.cmake

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

std::string_view file_of(std::string_view name) {
  const auto files = embedded_schema();
  return std::ranges::find(files, name, &EmbeddedFile::name)->bytes;
}

struct PlainColumn {
  std::string_view name, type;
};

// Adds columns that the table of an older program lacks.
template <typename Columns>
void add_missing(const Sqlite& connection, std::string_view table, const Columns& columns) {
  const std::vector<std::string> names = connection.texts("SELECT name FROM pragma_table_info(?1)", table);
  for (const auto& column : columns) {
    if (std::ranges::find(names, column.name) != names.end()) continue;
    connection.execute(fmt::format("ALTER TABLE {} ADD COLUMN {} {}", table, column.name, column.type));
  }
}

// Columns of the views that identify a row.
constexpr std::array kIdentities{
    "point", "network",        "trace",        "design",  "machine", "parameters",    "training_progress",
    "batch", "model",          "energy_table", "node_nm", "program", "configuration", "trace_sha256",
    "key",   "computed_at",    "traces",       "layer",   "shape",   "operation",     "macs",
    "bound", "best_of_smaller"};

// Columns of operations that the view does not name.
std::string other_operation_columns(std::string_view views) {
  std::string text;
  for (const OpField& field : kOpFields) {
    const auto column = std::ranges::find(operation_columns(), field.name, &OperationColumn::name);
    if (column == operation_columns().end()) continue;
    if (views.find(fmt::format("l.batch_scale AS {},", field.name)) != std::string_view::npos) continue;
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
  return std::ranges::find(kIdentities, name) != kIdentities.end();
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

namespace {

void create_tables(const Sqlite& connection) {
  using fmt::arg;
  connection.execute(
      fmt::format(fmt::runtime(file_of("tables.sql")), arg("traces", declared<TraceRecord>()),
                  arg("layers", declared<LayerRecord>()), arg("designs", declared<DesignRecord>()),
                  arg("points", declared(point_columns())), arg("operations", declared(operation_columns())),
                  arg("failures", declared<FailureRecord>())));
  connection.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, kSchemaVersion));
}

// The schema as this program makes it for plans that vary these parameters.
std::vector<SchemaObject> own_schema(const std::vector<std::string>& swept) {
  const Sqlite memory({}, Sqlite::Access::kCreate);
  create_tables(memory);
  for (const std::string& name : swept)
    memory.prepare("INSERT INTO swept_parameters (name) VALUES (?1)").run(name);
  create_views(memory);
  return schema_objects(memory);
}

}  // namespace

void migrate(const Sqlite& connection) {
  // Another process may be creating the same file, so everything happens inside the transaction.
  connection.transaction([&] {
    const bool empty = connection.integer("SELECT count(*) FROM sqlite_schema") == 0;
    if (empty) create_tables(connection);
    check_schema(connection, ForeignViews::kReplaced);
    constexpr std::array kRowChecksum{PlainColumn{"checksum", "INTEGER"}};
    for (const char* table : {"traces", "layers", "designs", "results", "operation_results"})
      add_missing(connection, table, kRowChecksum);
    add_missing(connection, "results", point_columns());
    add_missing(connection, "operation_results", operation_columns());
    create_views(connection);
  });
}

void check_schema(const Sqlite& connection, ForeignViews views) {
  if (connection.integer("PRAGMA application_id") != kApplicationId) {
    throw InputError(connection.file(), "this database was not written by 'lacuna sweep'",
                     "name another file");
  }
  const std::int64_t version = connection.integer("PRAGMA user_version");
  if (version != kSchemaVersion)
    throw InputError(connection.file(),
                     fmt::format("its schema is version {}, this program reads {}", version, kSchemaVersion),
                     "use the version of lacuna that wrote it, or name another file");
  // Tables first: the views read their parameters from one of them.
  check_objects(connection, own_schema({}), false);
  if (views == ForeignViews::kRefused)
    check_objects(connection, own_schema(connection.texts("SELECT name FROM swept_parameters")), true);
  connection.trust_schema();
}

void create_views(const Sqlite& connection) {
  std::string extracted, listed;
  for (const std::string& name : connection.texts("SELECT name FROM swept_parameters ORDER BY name")) {
    if (!is_parameter_column(name)) continue;
    extracted += fmt::format("\n  json_extract(d.configuration, '$.{0}') AS {0},", identifier(name));
    listed += fmt::format(" {},", identifier(name));
  }
  std::vector<std::string> of_points, of_networks;
  for (const MetricColumn& metric : metric_columns()) {
    of_points.push_back(fmt::format("{} AS {}", metric.of_point, metric.name));
    if (!metric.of_network.empty())
      of_networks.push_back(fmt::format("{} AS {}", metric.of_network, metric.name));
  }
  using fmt::arg;
  const std::string_view views = file_of("views.sql");
  connection.execute(fmt::format(fmt::runtime(views), arg("extracted", extracted), arg("listed", listed),
                                 arg("of_points", fmt::join(of_points, ",\n  ")),
                                 arg("of_networks", fmt::join(of_networks, ",\n  ")),
                                 arg("others", other_operation_columns(views))));
}

}  // namespace lacuna::sweep
