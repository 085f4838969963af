#include "sweep/store/database.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <stdexcept>
#include <unistd.h>

#include "base/error.hpp"
#include "sweep/store/schema.hpp"
#include "sweep/store/writer_lock.hpp"

namespace lacuna::sweep {
namespace {

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

const std::filesystem::path& check_exists(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    throw InputError(file.string(), "there is no such file of results",
                     "check the name; 'lacuna sweep PLAN.yaml -o FILE' makes one");
  }
  return file;
}

const std::filesystem::path& check_writable(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw InputError(file.string(), "this is a folder", "give the name of a file");
  }
  if (std::filesystem::exists(file, ignored) && ::access(file.c_str(), W_OK) != 0) {
    throw InputError(file.string(), fmt::format("cannot write to it: {}", std::strerror(errno)),
                     "change its permissions, or name another file");
  }
  return file;
}

std::vector<std::string> names_of(const Sqlite& connection, std::string_view sql) {
  std::vector<std::string> names;
  Statement statement = connection.prepare(sql);
  while (statement.step()) names.push_back(statement.text(0));
  return names;
}

std::unordered_map<std::string, Measures> stored_points(const Sqlite& connection,
                                                        const ProgramRecord& program) {
  std::unordered_map<std::string, Measures> keys;
  Statement statement = connection.prepare(
      "SELECT r.key, r.measured FROM results r JOIN designs d ON d.id = r.design JOIN programs p ON p.id = "
      "d.program WHERE p.version = ?1 AND p.results_version = ?2");
  statement.bind(1, program.version).bind(2, program.results_version);
  while (statement.step()) keys.emplace(statement.text(0), static_cast<Measures>(statement.integer(1)));
  return keys;
}

std::vector<std::pair<std::string, std::int64_t>> points_of_others(const Sqlite& connection,
                                                                   const ProgramRecord& program) {
  std::vector<std::pair<std::string, std::int64_t>> others;
  Statement statement = connection.prepare(
      "SELECT p.version || '/' || p.results_version, count(*) FROM results r JOIN designs d ON d.id = "
      "r.design "
      "JOIN programs p ON p.id = d.program WHERE NOT (p.version = ?1 AND p.results_version = ?2) "
      "GROUP BY p.id ORDER BY p.id");
  statement.bind(1, program.version).bind(2, program.results_version);
  while (statement.step()) others.emplace_back(statement.text(0), statement.integer(1));
  return others;
}

}  // namespace

std::unordered_map<std::string, Measures> Reader::stored(const ProgramRecord& program) const {
  return stored_points(connection_, program);
}

std::vector<std::pair<std::string, std::int64_t>> Reader::other_programs(const ProgramRecord& program) const {
  return points_of_others(connection_, program);
}

Reader::Reader(const std::filesystem::path& file) : connection_(check_exists(file), Sqlite::Access::kRead) {
  check_schema(connection_);
}

std::vector<std::string> Reader::swept_parameters() const {
  std::vector<std::string> names = names_of(connection_, "SELECT name FROM swept_parameters ORDER BY name");
  std::erase_if(names, [](const std::string& name) { return !is_parameter_column(name); });
  return names;
}

std::vector<std::string> Reader::programs() const {
  return names_of(connection_, "SELECT version || '/' || results_version FROM programs ORDER BY id DESC");
}

struct Database::State {
  // What every batch of points needs, prepared once.
  struct PointStatements {
    explicit PointStatements(const Sqlite& connection)
        : remove(connection.prepare("DELETE FROM results WHERE key = ?1")),
          succeed(connection.prepare("DELETE FROM failures WHERE key = ?1")),
          insert(connection.prepare(
              "INSERT INTO results (key, design, trace, measured, cycles, baseline_cycles, "
              "cycles_without_zeros, "
              "seconds, "
              "baseline_seconds, energy_joules, baseline_energy_joules, compute_energy_joules, "
              "baseline_compute_energy_joules, dram_read_bytes, dram_write_bytes, compute_cycles, "
              "took_seconds, "
              "computed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
              "?17, "
              "?18)")),
          insert_operation(connection.prepare(
              "INSERT INTO operation_results VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")),
          fail(connection.prepare(
              "INSERT OR REPLACE INTO failures (key, program, machine, parameters, trace, error, failed_at) "
              "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")) {}

    Statement remove, succeed, insert, insert_operation, fail;
  };

  State(const std::filesystem::path& file, const ProgramRecord& of)
      : lock(check_writable(file)), connection(file, Sqlite::Access::kCreate), program(of) {
    // Where the file system has no shared memory (NFS) SQLite stays with its rollback journal, which is
    // slower but as safe. FULL: what is committed survives a loss of power, too.
    connection.text("PRAGMA journal_mode = WAL");
    connection.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
    migrate(connection);
    add_program();
  }

  void add_program() {
    const auto find = [&] {
      Statement known =
          connection.prepare("SELECT id FROM programs WHERE version = ?1 AND results_version = ?2");
      known.bind(1, program.version).bind(2, program.results_version);
      return known.step() ? known.integer(0) : 0;
    };
    program_id = find();
    if (program_id != 0) return;
    Transaction transaction(connection);
    connection.prepare("INSERT INTO programs (version, results_version, assumptions) VALUES (?1, ?2, ?3)")
        .bind(1, program.version)
        .bind(2, program.results_version)
        .bind(3, program.assumptions)
        .run();
    transaction.commit();
    program_id = find();
  }

  // The row of a design or a trace by its key.
  std::int64_t row(std::unordered_map<std::string, std::int64_t>& rows, std::string_view sql,
                   const std::string& key) const {
    const auto at = rows.find(key);
    if (at != rows.end()) return at->second;
    Statement statement = connection.prepare(sql);
    statement.bind(1, key);
    if (!statement.step()) throw std::logic_error("a point refers to a design or trace that is not stored");
    return rows[key] = statement.integer(0);
  }
  std::int64_t design(const std::string& key) {
    return row(designs, "SELECT id FROM designs WHERE key = ?1", key);
  }
  std::int64_t trace(const std::string& sha256) {
    return row(traces, "SELECT id FROM traces WHERE sha256 = ?1", sha256);
  }

  WriterLock lock;  // first: it outlives the connection
  Sqlite connection;
  ProgramRecord program;
  std::int64_t program_id = 0;
  std::unordered_map<std::string, std::int64_t> designs, traces;
  std::optional<PointStatements> statements;  // last: they end before the connection
};

Database::Database(const std::filesystem::path& file, const ProgramRecord& program)
    : state_(std::make_unique<State>(file, program)) {}
Database::~Database() = default;

const std::string& Database::file() const { return state_->connection.file(); }

std::unordered_map<std::string, Measures> Database::stored() const {
  return stored_points(state_->connection, state_->program);
}

std::vector<std::pair<std::string, std::int64_t>> Database::other_programs() const {
  return points_of_others(state_->connection, state_->program);
}

void Database::add_parameters(const std::vector<std::string>& names) {
  const Sqlite& connection = state_->connection;
  Transaction transaction(connection);
  Statement insert = connection.prepare("INSERT OR IGNORE INTO swept_parameters (name) VALUES (?1)");
  for (const std::string& name : names) insert.bind(1, name).run();
  create_views(connection, names_of(connection, "SELECT name FROM swept_parameters ORDER BY name"));
  transaction.commit();
}

void Database::add_traces(std::span<const TraceRecord> traces) {
  const Sqlite& connection = state_->connection;
  Transaction transaction(connection);
  Statement known = connection.prepare("SELECT 1 FROM traces WHERE sha256 = ?1");
  Statement insert = connection.prepare(
      "INSERT INTO traces (sha256, name, network, origin, progress, batch) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  Statement insert_layer = connection.prepare(
      "INSERT INTO layers (trace, layer, name, shape, batch_scale, macs) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  for (const TraceRecord& trace : traces) {
    const bool there = known.bind(1, trace.sha256).step();
    known.reset();
    if (there) continue;
    insert.bind(1, trace.sha256).bind(2, trace.name).bind(3, trace.network).bind(4, trace.origin);
    insert.bind(5, trace.progress).bind(6, trace.batch).run();
    const std::int64_t id = connection.last_row();
    for (std::size_t i = 0; i < trace.layers.size(); ++i) {
      const LayerRecord& layer = trace.layers[i];
      insert_layer.bind(1, id).bind(2, static_cast<std::int64_t>(i)).bind(3, layer.name).bind(4, layer.shape);
      insert_layer.bind(5, layer.batch_scale).bind(6, layer.macs).run();
    }
  }
  transaction.commit();
}

void Database::add_designs(std::span<const DesignRecord> designs) {
  const Sqlite& connection = state_->connection;
  Transaction transaction(connection);
  Statement insert = connection.prepare(
      "INSERT OR IGNORE INTO designs (key, program, machine, model, configuration, parameters, baseline, "
      "baseline_configuration, energy_table, node_nm, frequency_mhz, area_mm2, baseline_area_mm2, "
      "compute_area_mm2) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)");
  const auto known = [](double value) { return value > 0 ? std::optional(value) : std::nullopt; };
  for (const DesignRecord& design : designs) {
    insert.bind(1, design.key).bind(2, state_->program_id).bind(3, design.machine).bind(4, design.model);
    insert.bind(5, design.configuration).bind(6, design.parameters).bind(7, design.baseline);
    insert.bind(8, design.baseline_configuration).bind(9, design.energy_table);
    insert.bind(10, known(design.node_nm)).bind(11, known(design.frequency_mhz)).bind(12, design.area_mm2);
    insert.bind(13, design.baseline_area_mm2).bind(14, design.compute_area_mm2).run();
  }
  transaction.commit();
}

void Database::add(std::span<const PointRecord> points, std::span<const FailureRecord> failures) {
  const Sqlite& connection = state_->connection;
  const std::string at = now();
  Transaction transaction(connection);
  if (!state_->statements) state_->statements.emplace(connection);
  auto& [remove, succeed, insert, insert_operation, fail] = *state_->statements;
  for (const PointRecord& point : points) {
    remove.bind(1, point.key).run();
    succeed.bind(1, point.key).run();
    insert.bind(1, point.key).bind(2, state_->design(point.design)).bind(3, state_->trace(point.trace));
    insert.bind(4, static_cast<std::int64_t>(point.measured)).bind(5, point.cycles);
    insert.bind(6, point.baseline_cycles).bind(7, point.cycles_without_zeros).bind(8, point.seconds);
    insert.bind(9, point.baseline_seconds)
        .bind(10, point.energy_joules)
        .bind(11, point.baseline_energy_joules);
    insert.bind(12, point.compute_energy_joules).bind(13, point.baseline_compute_energy_joules);
    insert.bind(14, point.dram_read_bytes).bind(15, point.dram_write_bytes).bind(16, point.compute_cycles);
    insert.bind(17, point.took_seconds).bind(18, at).run();
    const std::int64_t id = connection.last_row();
    for (const OperationRecord& op : point.operations) {
      insert_operation.bind(1, id).bind(2, op.layer).bind(3, op.operation).bind(4, op.scheduled_macs);
      insert_operation.bind(5, op.effectual_macs).bind(6, op.cycles).bind(7, op.baseline_cycles);
      insert_operation.bind(8, op.cycles_without_zeros).bind(9, op.energy_joules);
      insert_operation.bind(10, op.baseline_energy_joules).bind(11, op.bound).bind(12, op.dram_bytes).run();
    }
  }
  for (const FailureRecord& failure : failures) {
    fail.bind(1, failure.key)
        .bind(2, state_->program_id)
        .bind(3, failure.machine)
        .bind(4, failure.parameters);
    fail.bind(5, failure.trace).bind(6, failure.error).bind(7, at).run();
  }
  transaction.commit();
}

std::int64_t Database::begin_sweep(std::string_view plan, std::int64_t points) {
  Transaction transaction(state_->connection);
  state_->connection.prepare("INSERT INTO sweeps (program, plan, started_at, points) VALUES (?1, ?2, ?3, ?4)")
      .bind(1, state_->program_id)
      .bind(2, plan)
      .bind(3, now())
      .bind(4, points)
      .run();
  const std::int64_t id = state_->connection.last_row();
  transaction.commit();
  return id;
}

void Database::end_sweep(std::int64_t sweep, std::int64_t computed, bool whole) {
  Transaction transaction(state_->connection);
  state_->connection.prepare("UPDATE sweeps SET computed = ?2, ended_at = ?3 WHERE id = ?1")
      .bind(1, sweep)
      .bind(2, computed)
      .bind(3, whole ? std::optional(now()) : std::nullopt)
      .run();
  transaction.commit();
}

}  // namespace lacuna::sweep
