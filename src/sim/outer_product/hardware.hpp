// Components of an outer-product machine, and the actions of its PEs in an operation.
#pragma once

#include <cstdint>
#include <vector>

#include "energy/components.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "sim/outer_product/pe_traffic.hpp"
#include "sim/outer_product/processing_element.hpp"

namespace lacuna::outer_product {

// `search_window`: ANT's k; 0: PEs without range and search.
Hardware machine_hardware(const MachineConfig& config, std::int64_t search_window);

// Actions of the PEs in the whole batch; memory_actions() has those of the memories.
std::vector<ActionCount> pe_actions(const MachineConfig& config, std::int64_t search_window,
                                    const PairCounts& counts, const PeTraffic& traffic,
                                    std::int64_t compute_cycles, double batch_scale);

}  // namespace lacuna::outer_product
