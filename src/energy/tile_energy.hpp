// Energy, power and area of a machine of tiles: counts x costs, by component. The sum is the sum of the
// components and nothing else.
#pragma once

#include <cstdint>

#include "energy/components.hpp"
#include "energy/cost_table.hpp"

namespace lacuna {

// How many of each part there are.
struct ChipParts {
  double macs = 0;  // multipliers
  double transposers = 0;
  double a_mux_inputs = 0;      // inputs of all multiplexers of the dense side
  double b_mux_inputs = 0;      // of the scheduled side
  double scheduler_inputs = 0;  // choices of all lanes of all schedulers
  double sram_banks = 0;        // of AM, BM and CM together
  double scratchpad_tiles = 0;  // in tiles of 4 x 4 PEs of 16 lanes
  double frequency_mhz = 500;

  // `mux_inputs` and `schedulers_a_tile` are 0 for a machine that skips nothing.
  static ChipParts of_tiles(std::int64_t tiles, std::int64_t rows, std::int64_t columns, std::int64_t lanes,
                            std::int64_t mux_inputs, std::int64_t schedulers_a_tile, std::int64_t transposers,
                            std::int64_t sram_banks_each, double frequency_mhz);
};

// What happens in an operation (or many). Rows are of 16 values: a machine with other lanes counts them in
// proportion.
struct ChipCounts {
  double compute_cycles = 0;    // the tiles and transposers are clocked
  double scheduled_cycles = 0;  // of those, with the schedulers and multiplexers on: 0 where they are gated
  double cycles = 0;            // all the time that passes
  double counted_rows = 0;      // outputs whose zeros are counted
  double sram_reads = 0;
  double sram_writes = 0;
  double scratchpad_reads = 0;
  double scratchpad_writes = 0;
  double psum_reads = 0;
  double psum_writes = 0;
  double dram_bits = 0;
  double dram_activations = 0;
};

ByComponent energy_joules(const ChipCounts& counts, const ChipParts& chip, const CostTable& table);
// Of the logic at full activity: what Table 3 reports. Memories have none of their own here.
ByComponent logic_watts(const ChipParts& chip, const CostTable& table);
ByComponent area_mm2(const ChipParts& chip, const CostTable& table);

}  // namespace lacuna
