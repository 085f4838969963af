#include "sweep/store/schema.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/error.hpp"

namespace lacuna::sweep {
namespace {

constexpr std::string_view kTables = R"sql(
CREATE TABLE programs (
  id INTEGER PRIMARY KEY,
  version TEXT NOT NULL,             -- of lacuna
  results_version INTEGER NOT NULL,  -- raised whenever a change of the program changes its numbers
  assumptions TEXT NOT NULL,         -- docs/assumptions.md of that version
  UNIQUE (version, results_version)
) STRICT;
CREATE TABLE traces (
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,       -- of the file; of its description if it is synthetic
  name TEXT NOT NULL,
  network TEXT NOT NULL,
  origin TEXT NOT NULL,              -- path, or the 'lacuna synth' command that makes it
  progress REAL,                     -- of the training when it was recorded, 0 to 1
  batch INTEGER NOT NULL             -- trained with
) STRICT;
CREATE TABLE layers (
  trace INTEGER NOT NULL REFERENCES traces (id),
  layer INTEGER NOT NULL,            -- 0, 1, ... in the order of the network
  name TEXT NOT NULL,
  shape TEXT NOT NULL,
  batch_scale REAL NOT NULL,         -- recorded samples x this = the batch
  macs INTEGER NOT NULL,             -- of each operation, for the samples recorded
  PRIMARY KEY (trace, layer)
) STRICT, WITHOUT ROWID;
CREATE TABLE designs (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,          -- SHA-256 of program, configuration and costs
  program INTEGER NOT NULL REFERENCES programs (id),
  machine TEXT NOT NULL,             -- its name in the plan
  model TEXT NOT NULL,               -- what it is a configuration of
  configuration TEXT NOT NULL,       -- every parameter: JSON
  parameters TEXT NOT NULL,          -- those that are not the model's defaults: "rows=8 columns=2"
  baseline TEXT NOT NULL,            -- the model it is compared with; empty: itself
  baseline_configuration TEXT NOT NULL,
  energy_table TEXT NOT NULL,
  node_nm REAL,
  frequency_mhz REAL,
  area_mm2 REAL,
  baseline_area_mm2 REAL,
  compute_area_mm2 REAL              -- of the logic alone
) STRICT;
CREATE TABLE results (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,          -- SHA-256 of program, design and trace
  design INTEGER NOT NULL REFERENCES designs (id),
  trace INTEGER NOT NULL REFERENCES traces (id),
  measured INTEGER NOT NULL,         -- 1 cycles + 2 energy + 4 area + 8 memory
  cycles REAL NOT NULL,              -- this and what follows: one training step with the whole batch
  baseline_cycles REAL NOT NULL,
  cycles_without_zeros REAL NOT NULL,
  seconds REAL,
  baseline_seconds REAL,
  energy_joules REAL,
  baseline_energy_joules REAL,
  compute_energy_joules REAL,
  baseline_compute_energy_joules REAL,
  dram_read_bytes REAL,
  dram_write_bytes REAL,
  compute_cycles REAL,               -- of the tiles or PEs alone, with ideal memory
  took_seconds REAL NOT NULL,        -- to compute
  computed_at TEXT NOT NULL
) STRICT;
CREATE INDEX results_by_design ON results (design);
CREATE TABLE operation_results (
  point INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
  layer INTEGER NOT NULL,
  operation INTEGER NOT NULL,        -- 0 forward, 1 input_grad, 2 weight_grad
  scheduled_macs INTEGER NOT NULL,   -- this and what follows: of the samples recorded ...
  effectual_macs INTEGER NOT NULL,
  cycles INTEGER NOT NULL,
  baseline_cycles INTEGER NOT NULL,
  cycles_without_zeros INTEGER NOT NULL,
  energy_joules REAL,                -- ... but these of the whole batch
  baseline_energy_joules REAL,
  bound TEXT,
  dram_bytes REAL,
  PRIMARY KEY (point, layer, operation)
) STRICT, WITHOUT ROWID;
CREATE TABLE failures (
  key TEXT NOT NULL PRIMARY KEY,     -- of the point that could not be computed
  program INTEGER NOT NULL REFERENCES programs (id),
  machine TEXT NOT NULL,
  parameters TEXT NOT NULL,
  trace TEXT NOT NULL,
  error TEXT NOT NULL,
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
)sql";

// Version 0 is an empty file. Step i leads from version i to i + 1.
constexpr std::array<std::string_view, kSchemaVersion> kSteps{kTables};

constexpr std::string_view kDropViews =
    "DROP VIEW IF EXISTS pareto; DROP VIEW IF EXISTS by_network; DROP VIEW IF EXISTS operations; "
    "DROP VIEW IF EXISTS points;";

// One row per point: a design on a trace. {} are the columns of parameters.
constexpr std::string_view kPoints = R"sql(
CREATE VIEW points AS SELECT
  r.id AS point,
  t.network AS network,
  t.name AS trace,
  d.id AS design,
  d.machine AS machine,
  d.parameters AS parameters,{}
  r.cycles AS cycles,
  r.baseline_cycles AS baseline_cycles,
  r.baseline_cycles / nullif(r.cycles, 0) AS speedup,
  r.cycles_without_zeros / nullif(r.cycles, 0) AS speedup_from_zeros,
  r.seconds AS seconds,
  r.energy_joules AS energy_joules,
  r.baseline_energy_joules / nullif(r.energy_joules, 0) AS energy_efficiency,
  r.compute_energy_joules AS compute_energy_joules,
  r.baseline_compute_energy_joules / nullif(r.compute_energy_joules, 0) AS compute_efficiency,
  r.energy_joules * r.seconds AS energy_delay,
  r.energy_joules / nullif(r.seconds, 0) AS watts,
  d.area_mm2 AS area_mm2,
  d.area_mm2 / nullif(d.baseline_area_mm2, 0) AS area_ratio,
  r.dram_read_bytes + r.dram_write_bytes AS dram_bytes,
  r.compute_cycles AS cycles_with_ideal_memory,
  t.progress AS training_progress,
  t.batch AS batch,
  d.model AS model,
  d.energy_table AS energy_table,
  d.node_nm AS node_nm,
  p.version || '/' || p.results_version AS program,
  d.configuration AS configuration,
  t.sha256 AS trace_sha256,
  r.key AS key,
  r.computed_at AS computed_at
FROM results r
JOIN traces t ON t.id = r.trace
JOIN designs d ON d.id = r.design
JOIN programs p ON p.id = d.program;
)sql";

// One row per design and network: its traces added up.
constexpr std::string_view kByNetwork = R"sql(
CREATE VIEW by_network AS SELECT
  network, design, machine, parameters,{}
  count(*) AS traces,
  sum(cycles) AS cycles,
  sum(baseline_cycles) / nullif(sum(cycles), 0) AS speedup,
  sum(speedup_from_zeros * cycles) / nullif(sum(cycles), 0) AS speedup_from_zeros,
  sum(seconds) AS seconds,
  sum(energy_joules) AS energy_joules,
  sum(energy_efficiency * energy_joules) / nullif(sum(energy_joules), 0) AS energy_efficiency,
  sum(energy_joules) * sum(seconds) AS energy_delay,
  sum(energy_joules) / nullif(sum(seconds), 0) AS watts,
  area_mm2, area_ratio,
  sum(dram_bytes) AS dram_bytes,
  program
FROM points GROUP BY network, design;
)sql";

// Of each network the designs that no smaller or equally large one beats in speedup.
constexpr std::string_view kPareto = R"sql(
CREATE VIEW pareto AS SELECT
  network, program, area_mm2, speedup, design, machine, parameters,{}
  cycles, energy_joules, energy_delay
FROM (SELECT *, max(speedup) OVER (
        PARTITION BY network, program ORDER BY area_mm2, speedup DESC, design
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_of_smaller
      FROM by_network WHERE area_mm2 IS NOT NULL)
WHERE best_of_smaller IS NULL OR speedup > best_of_smaller
ORDER BY network, program, area_mm2;
)sql";

// One row per point, layer and operation.
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
  o.bound AS bound, o.dram_bytes AS dram_bytes
FROM operation_results o
JOIN results r ON r.id = o.point
JOIN points ON points.point = o.point
JOIN layers l ON l.trace = r.trace AND l.layer = o.layer;
)sql";

// As an identifier and as a member of a JSON path; names of parameters hold neither kind of quote.
std::string identifier(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

// "json_extract(d.configuration, '$."rows"') AS "rows"," for each.
std::string extracted(const std::vector<std::string>& parameters) {
  std::string text;
  for (const std::string& name : parameters) {
    text += fmt::format("\n  json_extract(d.configuration, '$.{0}') AS {0},", identifier(name));
  }
  return text;
}

std::string listed(const std::vector<std::string>& parameters) {
  std::string text;
  for (const std::string& name : parameters) text += fmt::format(" {},", identifier(name));
  return text;
}

[[noreturn]] void refuse(const Sqlite& connection, std::string_view cause, std::string_view remedy) {
  throw InputError(connection.file(), cause, remedy);
}

void check_ours(const Sqlite& connection, std::int64_t version) {
  if (connection.integer("PRAGMA application_id") != kApplicationId) {
    refuse(connection, "this database was not written by 'lacuna sweep'", "name another file");
  }
  if (version > kSchemaVersion) {
    refuse(connection,
           fmt::format("its schema is version {}, this program knows up to {}", version, kSchemaVersion),
           "use the version of lacuna that wrote it, or a later one");
  }
}

}  // namespace

void migrate(const Sqlite& connection) {
  // Another process may be creating the same file: look again inside the transaction.
  const auto is_empty = [&] { return connection.integer("SELECT count(*) FROM sqlite_schema") == 0; };
  const auto version = [&] { return connection.integer("PRAGMA user_version"); };
  if (!is_empty()) {
    check_ours(connection, version());
    if (version() == kSchemaVersion) return;
  }
  Transaction transaction(connection);
  if (!is_empty()) check_ours(connection, version());
  for (std::int64_t at = version(); at < kSchemaVersion; ++at) {
    connection.execute(kSteps[static_cast<std::size_t>(at)]);
  }
  connection.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, kSchemaVersion));
  std::vector<std::string> parameters;
  Statement names = connection.prepare("SELECT name FROM swept_parameters ORDER BY name");
  while (names.step()) parameters.push_back(names.text(0));
  names.reset();
  create_views(connection, parameters);
  transaction.commit();
}

void check_schema(const Sqlite& connection) {
  const std::int64_t version = connection.integer("PRAGMA user_version");
  check_ours(connection, version);
  if (version < kSchemaVersion) {
    refuse(connection, fmt::format("its schema is version {}, of an earlier lacuna", version),
           "run 'lacuna sweep' on it once, which brings it up to date");
  }
}

bool is_parameter_column(const std::string& name) {
  // What the views have beside parameters.
  static constexpr std::array kTaken{"point",
                                     "network",
                                     "trace",
                                     "design",
                                     "machine",
                                     "parameters",
                                     "cycles",
                                     "speedup",
                                     "seconds",
                                     "watts",
                                     "batch",
                                     "model",
                                     "energy_table",
                                     "node_nm",
                                     "program",
                                     "configuration",
                                     "key",
                                     "computed_at",
                                     "traces",
                                     "layer",
                                     "shape",
                                     "operation",
                                     "macs",
                                     "bound",
                                     "area_mm2",
                                     "area_ratio",
                                     "energy_delay",
                                     "energy_joules",
                                     "dram_bytes",
                                     "baseline_cycles",
                                     "energy_efficiency",
                                     "compute_efficiency",
                                     "compute_energy_joules",
                                     "speedup_from_zeros",
                                     "cycles_with_ideal_memory",
                                     "training_progress",
                                     "trace_sha256",
                                     "best_of_smaller"};
  return !name.empty() && std::ranges::find(kTaken, name) == kTaken.end() &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

void create_views(const Sqlite& connection, const std::vector<std::string>& parameters) {
  std::vector<std::string> shown;
  for (const std::string& name : parameters) {
    if (is_parameter_column(name)) shown.push_back(name);
  }
  connection.execute(kDropViews);
  connection.execute(fmt::format(kPoints, extracted(shown)));
  connection.execute(fmt::format(kByNetwork, listed(shown)));
  connection.execute(fmt::format(kPareto, listed(shown)));
  connection.execute(kOperations);
}

}  // namespace lacuna::sweep
