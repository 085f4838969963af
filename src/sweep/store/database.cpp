#include "sweep/store/database.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/input_files.hpp"
#include "sweep/store/checksums.hpp"
#include "sweep/store/result_columns.hpp"
#include "sweep/store/schema.hpp"

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

template <typename Columns>
std::vector<std::string> with_columns(std::vector<std::string> names, const Columns& columns) {
  for (const auto& column : columns) names.emplace_back(column.name);
  return names;
}

// The cells of a record, after those of other columns.
template <typename Record>
std::vector<Cell> cells_of(const Record& record, std::vector<Cell> cells = {}) {
  each_column(record, [&](const auto&, const auto& value) { cells.push_back(to_cell(value)); });
  return cells;
}

}  // namespace

Reader::Reader(const std::filesystem::path& file) : connection_(check_exists(file), Sqlite::Access::kRead) {
  connection_.execute("BEGIN");  // one state of the file for all queries
  check_schema(connection_);
  check_rows(connection_, false);
}

std::unordered_map<std::string, Measures> Reader::stored(const ProgramRecord& program) const {
  std::unordered_map<std::string, Measures> keys;
  Statement points = prepare(
      "SELECT r.key, r.measured FROM results r JOIN designs d ON d.id = r.design "
      "JOIN programs p ON p.id = d.program WHERE p.version = ?1 AND p.results_version = ?2",
      program.version, program.results_version);
  while (points.step()) keys.emplace(points.text(0), static_cast<Measures>(points.integer(1)));
  return keys;
}

std::vector<std::pair<std::string, std::int64_t>> Reader::other_programs(const ProgramRecord& program) const {
  std::vector<std::pair<std::string, std::int64_t>> others;
  Statement counts = prepare(
      "SELECT p.version || '/' || p.results_version, count(*) FROM results r JOIN designs d ON d.id = "
      "r.design JOIN programs p ON p.id = d.program "
      "WHERE NOT (p.version = ?1 AND p.results_version = ?2) GROUP BY p.id ORDER BY p.id",
      program.version, program.results_version);
  while (counts.step()) others.emplace_back(counts.text(0), counts.integer(1));
  return others;
}

std::vector<std::string> Reader::swept_parameters() const {
  auto names = connection_.texts("SELECT name FROM swept_parameters ORDER BY name");
  std::erase_if(names, [](const std::string& name) { return !is_parameter_column(name); });
  return names;
}

std::vector<std::string> Reader::programs() const {
  return connection_.texts("SELECT version || '/' || results_version FROM programs ORDER BY id DESC");
}

struct Database::Statements {
  explicit Statements(const Sqlite& connection)
      : remove(connection.prepare("DELETE FROM results WHERE key = ?1")),
        succeed(connection.prepare("DELETE FROM failures WHERE key = ?1")),
        point(connection, "INSERT", "results",
              with_columns({"design", "trace", "key", "measured", "took_seconds", "computed_at"},
                           point_columns())),
        operation(connection, "INSERT", "operation_results",
                  with_columns({"point", "layer", "operation"}, operation_columns())),
        failure(connection.prepare(insert_sql("INSERT OR REPLACE", "failures",
                                              column_names<FailureRecord>({"program", "failed_at"})))) {}

  Statement remove, succeed;
  CheckedInsert point, operation;
  Statement failure;
};

Database::Database(const std::filesystem::path& file, ProgramRecord program, std::function<bool()> stop)
    : WriterLock(check_writable(file)),
      Reader(file, Sqlite::Access::kCreate, std::move(stop)),
      program_(std::move(program)) {
  // Where the file system has no shared memory (NFS) SQLite stays with its rollback journal, which is
  // slower but as safe. FULL: committed rows survive a loss of power, too.
  connection().text("PRAGMA journal_mode = WAL");
  connection().execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
  migrate(connection());
  check_rows(connection(), false);
  const auto find = [&] {
    return connection().integer("SELECT id FROM programs WHERE version = ?1 AND results_version = ?2",
                                program_.version, program_.results_version);
  };
  program_id_ = find();
  if (program_id_ != 0) return;
  prepare("INSERT INTO programs (version, results_version, assumptions) VALUES (?1, ?2, ?3)")
      .run(program_.version, program_.results_version, program_.assumptions);
  program_id_ = find();
}

Database::~Database() = default;

std::int64_t Database::row(RowIds& rows, std::string_view sql, const std::string& key) const {
  std::int64_t& id = rows[key];
  if (id == 0) id = connection().integer(sql, key);
  if (id == 0)
    throw InputError(file(), "a design or trace that was stored is not there any more",
                     "another program changed the file: run the same command again");
  return id;
}

void Database::check_file() const {
  if (connection().has_moved()) fail_lost();
}

// The open file still has everything: SQLite copies it to a new one.
void Database::fail_lost() const {
  std::string copy;
  for (const std::filesystem::path& folder :
       {std::filesystem::path(file()).parent_path() / "", std::filesystem::path("./"),
        std::filesystem::temp_directory_path() / ""}) {
    std::string name =
        folder.string() + std::filesystem::path(file()).filename().string() + ".rescued-XXXXXX";
    const int descriptor = ::mkstemp(name.data());  // a new file that nobody could foresee
    if (descriptor < 0) continue;
    ::close(descriptor);
    try {
      prepare("VACUUM INTO ?1").run(name);
      copy = name;
      break;
    } catch (const std::exception&) {  // a full disk: try the next folder
      ::unlink(name.c_str());
    }
  }
  throw InputError(file(), "the file was removed or replaced while the sweep wrote to it",
                   copy.empty() ? "what was computed could not be saved elsewhere"
                                : fmt::format("everything computed is in {}", copy));
}

void Database::add_parameters(const std::vector<std::string>& names) {
  store([&] {
    Statement insert = prepare("INSERT OR IGNORE INTO swept_parameters (name) VALUES (?1)");
    for (const std::string& name : names) insert.run(name);
    create_views(connection());
  });
}

void Database::add_traces(std::span<const TraceRecord> traces) {
  store([&] {
    CheckedInsert of_trace(connection(), "INSERT", "traces", column_names<TraceRecord>());
    CheckedInsert of_layer(connection(), "INSERT", "layers", column_names<LayerRecord>({"trace", "layer"}));
    for (const TraceRecord& trace : traces) {
      if (connection().integer("SELECT 1 FROM traces WHERE sha256 = ?1", trace.sha256) != 0) continue;
      of_trace.run(cells_of(trace));
      const std::int64_t id = connection().last_row();
      for (std::size_t i = 0; i < trace.layers.size(); ++i) {
        of_layer.run(cells_of(trace.layers[i], {id, static_cast<std::int64_t>(i)}), {trace.sha256});
      }
    }
  });
}

void Database::add_designs(std::span<const DesignRecord> designs) {
  store([&] {
    CheckedInsert of_design(connection(), "INSERT OR IGNORE", "designs",
                            column_names<DesignRecord>({"program"}));
    const std::string program = fmt::format("{}/{}", program_.version, program_.results_version);
    for (const DesignRecord& design : designs) of_design.run(cells_of(design, {program_id_}), {program});
  });
}

void Database::add(std::span<const PointRecord> points, std::span<const FailureRecord> failures) {
  check_watched_files();  // traces that they were computed from
  const std::string at = now();
  store([&] {
    if (!statements_) statements_ = std::make_unique<Statements>(connection());
    Statements& use = *statements_;
    std::vector<Cell> cells;
    for (const PointRecord& point : points) {
      use.remove.run(point.key);
      use.succeed.run(point.key);
      cells = {row(design_rows_, "SELECT id FROM designs WHERE key = ?1", point.design),
               row(trace_rows_, "SELECT id FROM traces WHERE sha256 = ?1", point.trace),
               point.key,
               std::int64_t{point.measured},
               point.took_seconds,
               at};
      cells.insert(cells.end(), point.results.begin(), point.results.end());
      use.point.run(cells, {point.design, point.trace});
      const std::int64_t id = connection().last_row();
      for (const OperationRecord& operation : point.operations) {
        cells = {id, operation.layer, operation.operation};
        cells.insert(cells.end(), operation.results.begin(), operation.results.end());
        use.operation.run(cells, {point.key});
      }
    }
    for (const FailureRecord& failure : failures)
      use.failure.bind_all(cells_of(failure, {program_id_, at})).finish();
  });
}

std::int64_t Database::begin_sweep(std::string_view plan, std::int64_t points) {
  prepare("INSERT INTO sweeps (program, plan, started_at, points) VALUES (?1, ?2, ?3, ?4)")
      .run(program_id_, plan, now(), points);
  return connection().last_row();
}

void Database::end_sweep(std::int64_t sweep, std::int64_t computed, bool whole) {
  prepare("UPDATE sweeps SET computed = ?2, ended_at = ?3 WHERE id = ?1")
      .run(sweep, computed, whole ? std::optional(now()) : std::nullopt);
  check_file();
  bool there = false;
  try {
    const Sqlite again(file(), Sqlite::Access::kRead);
    there = again.integer("SELECT computed FROM sweeps WHERE id = ?1", sweep) == computed &&
            again.text("PRAGMA quick_check(1)") == "ok";
  } catch (const InputError&) {  // another file, or none
  }
  if (!there) fail_lost();
}

}  // namespace lacuna::sweep
