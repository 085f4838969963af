// What a machine is built of, for its area and energy (src/energy has the costs).
#pragma once

#include <variant>

#include "sim/tile/tile_hardware.hpp"

namespace lacuna {

// An SCNN-like or ANT machine.
struct OuterHardware {
  std::int64_t pes = 0;
  std::int64_t n = 0;  // a PE has n x n multipliers
  std::int64_t banks = 0;
  std::int64_t bank_entries = 0;
  std::int64_t search_window = 0;  // ANT's k; 0: no range and search
  std::int64_t value_bytes = 4;
  double frequency_mhz = 0;
  bool gated = false;  // logic that is not used is not clocked
  TileHardware dense;  // the dense machine of as many multipliers that it is compared with
  bool operator==(const OuterHardware&) const = default;
};

using Hardware = std::variant<TileHardware, OuterHardware>;

}  // namespace lacuna
