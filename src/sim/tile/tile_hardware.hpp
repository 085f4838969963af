// What a machine of tiles is built of, for its area and energy (src/energy has the costs).
#pragma once

#include <cstdint>

namespace lacuna {

struct TileHardware {
  std::int64_t tiles = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t lanes = 0;
  std::int64_t transposers = 0;
  std::int64_t sram_banks = 0;  // of each of AM, BM and CM, on the chip
  std::int64_t value_bytes = 4;
  double frequency_mhz = 0;
  // Of a machine that skips zeros; 0 and false where it does not.
  std::int64_t mux_inputs = 0;         // of one multiplier's multiplexer
  std::int64_t schedulers_a_tile = 0;  // each with its multiplexers of the scheduled side
  bool zero_counters = false;          // [TensorDash §3.5]
  bool operator==(const TileHardware&) const = default;
};

}  // namespace lacuna
