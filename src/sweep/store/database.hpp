// A file of results: SQLite with a write-ahead log. One process writes, any number may read meanwhile.
// A point is known by its content (its key), so it is stored once whatever plans ask for it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sweep/store/records.hpp"
#include "sweep/store/sqlite.hpp"

namespace lacuna::sweep {

// Which program computes: results of others are kept beside its own, under their name.
struct ProgramRecord {
  std::string version;
  int results_version = 0;
  std::string assumptions;
};

// For those who only read: queries on the views of docs/sweep.md.
//   Statement best = reader.prepare("SELECT machine, speedup FROM points WHERE area_mm2 < ?1");
//   best.bind(1, 40.0); while (best.step()) best.number(1);
class Reader {
 public:
  // Throws InputError if there is no such file or it is not one of results.
  explicit Reader(const std::filesystem::path& file);

  const Sqlite& connection() const { return connection_; }
  Statement prepare(std::string_view sql) const { return connection_.prepare(sql); }
  // Columns of the views `points` and `by_network` that are parameters which plans vary, sorted.
  std::vector<std::string> swept_parameters() const;
  // "0.1.0/1", the latest first.
  std::vector<std::string> programs() const;
  // Keys of the points of a program, with what was measured.
  std::unordered_map<std::string, Measures> stored(const ProgramRecord& program) const;
  // Points of other versions of the program, by name ("0.1.0/1").
  std::vector<std::pair<std::string, std::int64_t>> other_programs(const ProgramRecord& program) const;

 private:
  Sqlite connection_;
};

// The one who writes. Every call that stores is one transaction: it is there whole when the call returns,
// whatever happens to the process then.
class Database {
 public:
  // Creates the file if there is none. Throws InputError if it cannot be written, is another kind of file,
  // or another sweep writes to it.
  Database(const std::filesystem::path& file, const ProgramRecord& program);
  ~Database();

  const std::string& file() const;
  // Keys of the points of this program that are stored, with what was measured.
  std::unordered_map<std::string, Measures> stored() const;
  // Points of other versions of the program, by name ("0.1.0/1").
  std::vector<std::pair<std::string, std::int64_t>> other_programs() const;

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
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lacuna::sweep
