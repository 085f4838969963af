// The operations of a trace with their MAC counts, counted once for any number of machines.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sim/accelerator.hpp"
#include "tensor/data_type.hpp"

namespace lacuna {

class TraceWork {
 public:
  // An operation, and where its result belongs.
  struct Job {
    // The layer as the operation multiplies it. Masks of tensors without a zero say so, whatever the trace
    // stores: engines then count one of each kind of streams.
    Layer multiplied;
    OperationWork work;
    std::size_t layer, slot;

    Job(const Trace& trace, std::size_t index, std::size_t at, Operation op);
    Job(const Job&) = delete;
    double macs() const { return static_cast<double>(work.macs.macs); }
  };

  // Counts the operations that `options` runs. The trace must outlive it.
  explicit TraceWork(const Trace& trace, const SimOptions& options = {});

  const Trace& trace() const { return trace_; }
  // Largest first, so that no thread starts a long job when the others have ended.
  const std::vector<std::unique_ptr<const Job>>& jobs() const { return jobs_; }
  double macs() const;  // of all of them
  // The work as machines of a data type have it: another one where recorded values round to zero.
  const TraceWork& in(DataType type) const;

 private:
  const Trace& trace_;
  std::vector<std::unique_ptr<const Job>> jobs_;
  struct Rounded;
  std::map<DataType, std::shared_ptr<const Rounded>> rounded_;
};

}  // namespace lacuna
