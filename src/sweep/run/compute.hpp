// From designs and a trace to points.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/trace_work.hpp"
#include "sweep/plan/design.hpp"
#include "sweep/plan/plan.hpp"

namespace lacuna::sweep {

// The hash that identifies a trace, before it is opened. Throws InputError if it cannot be read.
std::string trace_sha256(const PlanTrace& trace);

// A trace with its operations counted, for any number of designs and threads.
class LoadedTrace {
 public:
  // Throws InputError if the file is not the one that `sha256` was taken of.
  LoadedTrace(const PlanTrace& plan, const std::string& sha256);

  const TraceRecord& record() const { return record_; }
  const TraceWork& work() const { return *work_; }
  // Throws InputError if the file has been changed since it was opened, which may have changed what was read.
  void check_unchanged() const;

 private:
  std::string state_of_file() const;  // size, time and place of what lies under the path

  std::filesystem::path path_;
  std::string state_;
  TraceRecord record_;
  std::shared_ptr<const Trace> trace_;
  std::unique_ptr<const TraceWork> work_;
};

// `sha256` and `trace`: hash and name of the trace.
FailureRecord failure_of(const Design& design, const std::string& sha256, const std::string& trace,
                         std::string_view error);

// Rows for the file of results.
struct ChunkResult {
  std::vector<TraceRecord> traces;  // that were read for it
  std::vector<PointRecord> points;
  std::vector<FailureRecord> failures;

  void add(ChunkResult other);
};

// Computes all designs on the trace, on this thread, sharing what they can; `empty`:
// DesignFactory::simulation(). A failure is recorded and stops nothing else.
ChunkResult compute_points(const LoadedTrace& trace, const Simulation& empty, std::span<const Design> designs,
                           Measures measures);

}  // namespace lacuna::sweep
