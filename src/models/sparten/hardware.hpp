// Components of a SparTen machine, and the actions of its units in an operation.
#pragma once

#include <cstdint>
#include <vector>

#include "energy/components.hpp"
#include "models/sparten/config.hpp"
#include "models/sparten/engine/engine.hpp"
#include "sim/workload/operation_work.hpp"

namespace lacuna::sparten {

// Traffic through the buffers of the units, and between them and SRAM: of the samples recorded, in all
// products of an operation. Masks count in bits, values in values.
struct UnitTraffic {
  std::int64_t joins = 0;            // of a broadcast chunk and a held chunk
  std::int64_t joins_left_out = 0;   // with chunks that are not broadcast
  std::int64_t chunks_received = 0;  // broadcast chunks that arrive at a unit
  // From SRAM, each for all clusters that one read feeds.
  std::int64_t broadcast_values_read = 0, broadcast_mask_bits_read = 0;
  std::int64_t held_values_read = 0, held_mask_bits_read = 0;
  // Into the buffers of units.
  std::int64_t values_written = 0, mask_bits_written = 0;

  UnitTraffic& operator+=(const UnitTraffic& other) { return add_counts(*this, other); }
};

UnitTraffic unit_traffic(const PlacedProduct& placed, const ProductCounts& counts);

Hardware machine_hardware(const Config& config);

// Returns the actions of the units in the whole batch; memory_actions() has those of the memories. `counts`
// of all products; `matches` of all joins; `empty_joins` without a match.
std::vector<ActionCount> unit_actions(const Config& config, const OperationWork& work,
                                      const ProductCounts& counts, const UnitTraffic& traffic,
                                      std::int64_t matches, std::int64_t empty_joins);

}  // namespace lacuna::sparten
