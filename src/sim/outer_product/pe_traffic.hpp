// Elements on their way between SRAM and the PEs of an outer-product machine.
#pragma once

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

}  // namespace lacuna::outer_product
