// What `lacuna bench` measures: one job per layer and operation, planned before anything is timed.
#pragma once

#include <optional>
#include <vector>

#include "cli/commands/bench_options.hpp"
#include "cli/commands/bench_shapes.hpp"
#include "cli/commands/bench_zeros.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::cli {

struct BenchJob {
  const BenchNetwork* network;
  const BenchLayer* layer;
  Operation op;
  std::optional<Operand> checked;
  std::vector<double> zeros;  // shares to be measured; none: as in the trace
  bool either_side = false;   // zeros of weights may be skipped instead
  // Time that it takes, in units of its own.
  double cost() const {
    return static_cast<double>(layer->shape.macs()) * static_cast<double>(zeros.size() + 1);
  }
};

// Each table belongs to the network that its file is named after, or to that of --shapes.
std::vector<ZeroTable> read_tables(BenchOptions& options);
// `tables`: of zeros, one per network; or none.
std::vector<BenchJob> plan_jobs(const std::vector<BenchNetwork>& networks,
                                const std::vector<ZeroTable>& tables, const BenchOptions& options);
kernels::MeasureSpec spec_of(const BenchJob& job, const BenchOptions& options, kernels::Impl impl);
// SparseTrain leaves initial layers to a dense kernel, and what it has no kernel for.
bool left_out(const BenchLayer& layer, const BenchOptions& options);
// Depthwise and the like leave most lanes of our kernels empty: they are always oneDNN's.
bool is_part_grouped(const LayerShape& shape);

}  // namespace lacuna::cli
