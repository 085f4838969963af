// The memories around PEs that take operands without their zeros: DRAM and on-chip SRAM as the machines of
// tiles have them, tensors as values with the bits that say where each belongs.
//
//   DRAM -> AM, BM -> buffers of the PEs -> multipliers -> accumulators -> CM -> DRAM
#pragma once

#include "sim/memory/dram.hpp"
#include "sim/memory/tensor_traffic.hpp"
#include "sim/result.hpp"

namespace lacuna {

class PackedMemory {
 public:
  explicit PackedMemory(const Params& params) : dram_(params) {}

  // Rows of SRAM that values take with the bits of their places.
  std::int64_t rows(std::int64_t values, std::int64_t place_bits) const;

  // Fills in the result's cycles, activity and the actions of SRAM and DRAM. `activity` holds the cycles of
  // the PEs, and what they read of AM and BM. `tensor_rows`: rows that a tensor takes; `sram_cycles`: from
  // the activity, once the tensors are counted. With memory=modelled an operation takes as long as the
  // slowest of PEs, DRAM and SRAM.
  template <typename SramCycles>
  void finish(const OperationWork& work, Activity activity, const StoredRows& tensor_rows,
              const SramCycles& sram_cycles, OpResult& result) const {
    count_tensor_traffic(work, dram_, tensor_rows, activity, result.dram_tensors);
    activity.sram_cycles = sram_cycles(activity);
    finish(work, activity, result);
  }

  const Dram& dram() const { return dram_; }

 private:
  void finish(const OperationWork& work, Activity& activity, OpResult& result) const;

  Dram dram_;
};

}  // namespace lacuna
