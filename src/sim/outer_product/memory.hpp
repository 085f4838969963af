// The memories around the PEs of an outer-product machine: DRAM and on-chip SRAM as the machines of tiles
// have them.
//
//   DRAM -> SRAM -> operand RAMs of the PEs -> multipliers -> accumulators -> output RAMs -> SRAM -> DRAM
#pragma once

#include "sim/memory/dram.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "sim/workload/operation_work.hpp"

namespace lacuna::outer_product {

// Elements that go through the RAMs of PEs in an operation, for the samples recorded.
struct PeTraffic {
  std::int64_t image_values_sent = 0;  // read from SRAM, each for all PEs that need it
  std::int64_t kernel_values_sent = 0;
  std::int64_t loaded = 0;   // written to operand RAMs
  std::int64_t drained = 0;  // sums that leave the accumulators
  std::int64_t halo = 0;     // sums for outputs of another PE's tile
};
// `pairs`: with non-zeros on both sides; `sent_again`: kernel vectors that were broadcast more than once.
PeTraffic pe_traffic(const OperationWork& work, const MachineConfig& config, std::int64_t pairs,
                     std::int64_t sent_again);

// The time of an operation with its memory, and what that memory did.
struct OuterTiming {
  Activity activity;
  std::int64_t cycles = 0;
};

class OuterMemory {
 public:
  explicit OuterMemory(const Params& params) : dram_(params) {}

  // `compute_cycles` are the PEs'; with memory=modelled an operation takes as long as the slower of them and
  // DRAM.
  OuterTiming time(const OperationWork& work, const PeTraffic& traffic, std::int64_t compute_cycles) const;

  const Dram& dram() const { return dram_; }

 private:
  Activity count(const OperationWork& work, const PeTraffic& traffic, std::int64_t compute_cycles) const;
  std::int64_t rows(std::int64_t values) const;

  Dram dram_;
};

}  // namespace lacuna::outer_product
