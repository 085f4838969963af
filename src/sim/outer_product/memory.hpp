// What is around the PEs of an outer-product machine: DRAM and on-chip SRAM as the machines of tiles have
// them, and the dense machine of as many multipliers that results refer to.
//
//   DRAM -> SRAM -> operand RAMs of the PEs -> multipliers -> accumulators -> output RAMs -> SRAM -> DRAM
#pragma once

#include "sim/memory/dram.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "sim/tile/tile_memory.hpp"

namespace lacuna::outer {

// Elements that go through the RAMs of PEs in an operation, for the samples recorded.
struct PeTraffic {
  std::int64_t image_values_sent = 0;  // read from SRAM, each for all PEs that need it
  std::int64_t kernel_values_sent = 0;
  std::int64_t loaded = 0;   // written to operand RAMs
  std::int64_t drained = 0;  // sums that leave the accumulators
  std::int64_t halo = 0;     // sums for outputs of another PE's tile
};
// `pairs`: with non-zeros on both sides.
PeTraffic pe_traffic(const Layer& layer, Operation op, const MachineConfig& config, std::int64_t pairs);

class OuterMemory {
 public:
  OuterMemory(const Params& params, const MachineConfig& config);

  // Sets `dense_cycles` and adds the activities of the machine and of the dense one. `result.cycles` are the
  // PEs'; with memory=modelled they become those of the PEs or of DRAM, whichever is slower.
  void apply(const Layer& layer, Operation op, const PeTraffic& traffic, double batch_scale,
             OpResult& result) const;

  TileHardware dense_hardware() const { return dense_.hardware(); }

 private:
  Activity count(const Layer& layer, Operation op, const PeTraffic& traffic, double batch_scale,
                 std::int64_t cycles) const;
  std::int64_t rows(std::int64_t values) const;

  Dram dram_;
  TileShape dense_tile_;
  TileMemory dense_;
};

}  // namespace lacuna::outer
