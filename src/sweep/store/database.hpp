// A file of results: SQLite with a write-ahead log. One process writes, any number may read meanwhile.
// A point is known by its content (its key), so it is stored once whatever plans ask for it.
#pragma once

#include <filesystem>
#include <functional>
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
  // Throws InputError if there is no such file, it is not one of results, or a row was changed since it was
  // stored. All queries see the file as it is now, whatever a sweep adds meanwhile.
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
  Reader(const std::filesystem::path& file, Sqlite::Access access, std::function<bool()> stop)
      : connection_(file, access, std::move(stop)) {}

 private:
  Sqlite connection_;
};

// The writer. Every call that stores is one transaction: it is there whole when the call returns, whatever
// happens to the process then. If the file was removed or replaced meanwhile, the call copies everything to a
// file of another name and throws InputError.
class Database : private WriterLock, public Reader {
 public:
  // Creates the file if there is none. Throws InputError if it cannot be written, is another kind of file,
  // another sweep writes to it, or it is damaged. `stop`: see Sqlite.
  Database(const std::filesystem::path& file, ProgramRecord program, std::function<bool()> stop = {});
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
  // Also opens the file once more, by its name, to see that the sweep is in it.
  void end_sweep(std::int64_t sweep, std::int64_t computed, bool whole);

 private:
  struct Statements;
  using RowIds = std::unordered_map<std::string, std::int64_t>;
  std::int64_t row(RowIds& rows, std::string_view sql, const std::string& key) const;
  // A transaction, and check_file().
  template <typename Work>
  void store(const Work& work) {
    connection().transaction(work);
    check_file();
  }
  // Throws InputError if the path no longer leads to the file that is open.
  void check_file() const;
  [[noreturn]] void fail_lost() const;

  ProgramRecord program_;
  std::int64_t program_id_ = 0;
  RowIds design_rows_, trace_rows_;         // by DesignRecord::key and TraceRecord::sha256
  std::unique_ptr<Statements> statements_;  // that every batch of points needs, prepared once
};

// Takes a text piece by piece: an export may be larger than the memory.
using TextSink = std::function<void(std::string_view)>;
// The view `points`, one row per point in the order in which they were computed; or another one (by_network,
// pareto, operations, failures). Throws InputError for a view that does not exist.
void export_csv(const Reader& results, const std::string& view, const TextSink& sink);
// {"schema": 1, "lacuna": "0.1.0", "view": "points", "rows": [{...}, ...]}
void export_json(const Reader& results, const std::string& view, const TextSink& sink);

}  // namespace lacuna::sweep
