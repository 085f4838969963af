// A file of results: SQLite with a write-ahead log. One process writes, any number may read meanwhile.
// A point is known by its content (its key), so it is stored once whatever plans ask for it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sweep/store/records.hpp"
#include "sweep/store/writer_lock.hpp"

namespace lacuna::sweep {

// The program that computes. Results of other programs are kept in the same file, under their names.
struct ProgramRecord {
  std::string version;
  int results_version = 0;
  std::string assumptions;
};

// Reads a file of results: queries on the views of docs/sweep.md.
//   Statement best = reader.prepare("SELECT machine, speedup FROM points WHERE area_mm2 < ?1", 40.0);
//   while (best.step()) best.number(1);
class Reader {
 public:
  // Throws InputError if there is no such file or it is not one of results.
  explicit Reader(const std::filesystem::path& file);

  const Sqlite& connection() const { return connection_; }
  const std::string& file() const { return connection_.file(); }
  template <typename... Values>
  Statement prepare(std::string_view sql, const Values&... values) const {
    return connection_.prepare(sql, values...);
  }
  // Columns of the views `points` and `by_network` that are parameters which plans vary, sorted.
  std::vector<std::string> swept_parameters() const;
  // "0.1.0/1", the latest first.
  std::vector<std::string> programs() const;
  // Keys of a program's points, with the measures of each.
  std::unordered_map<std::string, Measures> stored(const ProgramRecord& program) const;
  // Numbers of points of other versions of the program, by name ("0.1.0/1").
  std::vector<std::pair<std::string, std::int64_t>> other_programs(const ProgramRecord& program) const;

 protected:
  Reader(const std::filesystem::path& file, Sqlite::Access access) : connection_(file, access) {}

 private:
  Sqlite connection_;
};

// The writer. Every call that stores is one transaction: it is there whole when the call returns, whatever
// happens to the process then.
class Database : private WriterLock, public Reader {
 public:
  // Creates the file if there is none. Throws InputError if it cannot be written, is another kind of file,
  // or another sweep writes to it.
  Database(const std::filesystem::path& file, ProgramRecord program);
  ~Database();

  // The points of this program.
  auto stored() const { return Reader::stored(program_); }
  auto other_programs() const { return Reader::other_programs(program_); }

  // Parameters that become columns of the views.
  void add_parameters(const std::vector<std::string>& names);
  // Traces and designs come before the points that refer to them; those already there stay as they are.
  void add_traces(std::span<const TraceRecord> traces);
  void add_designs(std::span<const DesignRecord> designs);
  // A point replaces one of the same key of which less was measured; a failure goes when its point comes.
  void add(std::span<const PointRecord> points, std::span<const FailureRecord> failures = {});

  // A line in the table `sweeps`.
  std::int64_t begin_sweep(std::string_view plan, std::int64_t points);
  void end_sweep(std::int64_t sweep, std::int64_t computed, bool whole);

 private:
  struct Statements;
  using RowIds = std::unordered_map<std::string, std::int64_t>;
  std::int64_t row(RowIds& rows, std::string_view sql, const std::string& key) const;

  ProgramRecord program_;
  std::int64_t program_id_ = 0;
  RowIds design_rows_, trace_rows_;         // by DesignRecord::key and TraceRecord::sha256
  std::unique_ptr<Statements> statements_;  // that every batch of points needs, prepared once
};

// The view `points`, one row per point in the order in which they were computed; or another one (by_network,
// pareto, operations, failures). Throws InputError for a view that does not exist.
std::string export_csv(const Reader& results, const std::string& view);
// {"schema": 1, "lacuna": "0.1.0", "view": "points", "rows": [{...}, ...]}
std::string export_json(const Reader& results, const std::string& view);

}  // namespace lacuna::sweep
