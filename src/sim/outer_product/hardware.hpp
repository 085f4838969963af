// What an outer-product machine is built of, and what its PEs do in an operation, as components and actions.
#pragma once

#include <cstdint>
#include <vector>

#include "energy/components.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "sim/outer_product/memory.hpp"
#include "sim/outer_product/processing_element.hpp"

namespace lacuna::outer_product {

// `search_window`: ANT's k; 0: PEs without range and search.
Hardware machine_hardware(const MachineConfig& config, std::int64_t search_window);

// Of the PEs in the whole batch; memory_actions() has what is around them.
std::vector<ActionCount> pe_actions(const MachineConfig& config, std::int64_t search_window,
                                    const PairCounts& counts, const PeTraffic& traffic,
                                    std::int64_t compute_cycles, double batch_scale);

}  // namespace lacuna::outer_product
