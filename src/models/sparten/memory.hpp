// The memories around the clusters: DRAM and on-chip SRAM as the machines of tiles have them, tensors as
// masks and packed values.
//
//   DRAM -> AM, BM -> chunk buffers of the units -> multipliers -> partial sums of the units -> CM -> DRAM
#pragma once

#include "models/sparten/config.hpp"
#include "models/sparten/traffic.hpp"
#include "sim/memory/dram.hpp"
#include "sim/workload/operation_work.hpp"

namespace lacuna::sparten {

// The time of an operation with its memory, and what that memory did.
struct Timing {
  Activity activity;
  std::int64_t cycles = 0;
};

class Memory {
 public:
  Memory(const Params& params, const Config& config) : dram_(params), config_(config) {}

  // `compute_cycles` are the units'. ASSUMPTION(P9): with memory=modelled an operation takes as long as the
  // slowest of them, SRAM and DRAM.
  Timing time(const OperationWork& work, const UnitTraffic& traffic, std::int64_t compute_cycles) const;

  const Dram& dram() const { return dram_; }

 private:
  std::int64_t rows(std::int64_t values, std::int64_t mask_bits) const;
  std::int64_t sram_cycles(const OperationWork& work, const Activity& activity) const;

  Dram dram_;
  Config config_;
};

}  // namespace lacuna::sparten
