// Components of an outer-product machine, and the actions of its PEs in an operation.
#pragma once

#include <cstdint>
#include <vector>

#include "energy/components.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "sim/outer_product/processing_element.hpp"
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

// `search_window`: ANT's k; 0: PEs without range and search.
Hardware machine_hardware(const MachineConfig& config, std::int64_t search_window);

// Actions of the PEs in the whole batch; memory_actions() has those of the memories.
std::vector<ActionCount> pe_actions(const MachineConfig& config, std::int64_t search_window,
                                    const PairCounts& counts, const PeTraffic& traffic,
                                    std::int64_t compute_cycles, double batch_scale);

}  // namespace lacuna::outer_product
