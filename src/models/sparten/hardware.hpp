// Components of a SparTen machine, and the actions of its units in an operation.
#pragma once

#include <cstdint>
#include <vector>

#include "energy/components.hpp"
#include "models/sparten/config.hpp"
#include "models/sparten/traffic.hpp"
#include "sim/workload/operation_work.hpp"

namespace lacuna::sparten {

Hardware machine_hardware(const Config& config);

// Of the units in the whole batch; memory_actions() has what is around them. `counts` of all products;
// `empty_joins` without a match.
std::vector<ActionCount> unit_actions(const Config& config, const OperationWork& work,
                                      const ProductCounts& counts, const UnitTraffic& traffic,
                                      std::int64_t empty_joins);

}  // namespace lacuna::sparten
