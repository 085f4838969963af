// A chip of outer-product PEs: what SCNN-like and ANT machines have in common.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <memory>

#include "sim/accelerator.hpp"
#include "sim/memory/packed_memory.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "sim/outer_product/processing_element.hpp"
#include "sim/outer_product/schedule.hpp"
#include "trace/trace.hpp"

namespace lacuna::outer_product {

// The counters and their laws are listed in docs/models/scnn.md.
class OuterProductMachine : public Accelerator {
 public:
  OuterProductMachine(Params params, std::unique_ptr<ProcessingElement> pe);

  const Params& params() const override { return params_; }
  // ASSUMPTION(O4): a dense inner-product machine (TensorDash's tiles) with the same number of multipliers,
  // so that the speedups of all machines share one baseline.
  std::optional<BaselineSpec> baseline() const override;
  std::optional<Hardware> hardware() const override;
  std::vector<LayerPasses> plan(const Trace& trace, const SimOptions& options) const override;
  double work_without_zeros(const LayerShape& s) const override;
  double work(const LayerShape& shape) const override;
  std::string sharing_key() const override { return costs_key_; }
  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override;

 private:
  // Counts and time of the PEs, memory not yet included.
  struct Outcome {
    PairCounts counts;
    ScheduleResult time;
    UnitRecord units;
  };
  std::vector<MappingChoice> mapping(const Layer& layer, Operation op) const;
  Outcome run(const OperationWork& work, const SimOptions& options) const;

  Params params_;
  MachineConfig config_;
  PackedMemory memory_;
  std::unique_ptr<ProcessingElement> pe_;
  std::string compute_key_ = memo_key(params_, dram_params("", ""), {"idle_logic"});
  // Parameters that the cycles of pairs depend on, wherever they run.
  std::string costs_key_ = memo_key(params_, machine_params(0), {"kernel_vectors"}) +
                           fmt::format(" n={} banks={}", config_.n, config_.pe().banks);
};

// The two engines of the outer-product machines: every pair of an operation, counted or computed.

// Counts from masks. `useful` stays 0: it is count_macs' effectual. The reference of count_by_sets().
PairCounts count_pair_by_pair(const Layer& layer, Operation op, const MachineConfig& config,
                              const ProcessingElement& pe, Schedule& schedule);

// Moves values through the PEs and compares the result with the reference convolution (std::logic_error).
PairCounts execute_operation(const Layer& layer, Operation op, const MachineConfig& config,
                             const ProcessingElement& pe, Schedule& schedule, std::uint64_t seed);

}  // namespace lacuna::outer_product
