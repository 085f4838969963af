// The two engines of the outer-product machines: every pair of an operation, counted or computed.
#pragma once

#include <cstdint>

#include "sim/outer_product/machine_config.hpp"
#include "sim/outer_product/processing_element.hpp"
#include "sim/outer_product/schedule.hpp"
#include "trace/trace.hpp"

namespace lacuna::outer_product {

// Counts from masks. `useful` stays 0: it is count_macs' effectual.
PairCounts count_operation(const Layer& layer, Operation op, const MachineConfig& config,
                           const ProcessingElement& pe, Schedule& schedule);

// Moves values through the PEs and compares the result with the reference convolution (std::logic_error).
PairCounts execute_operation(const Layer& layer, Operation op, const MachineConfig& config,
                             const ProcessingElement& pe, Schedule& schedule, std::uint64_t seed);

}  // namespace lacuna::outer_product
