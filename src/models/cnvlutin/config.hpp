// The parameters of Cnvlutin, checked and resolved.
#pragma once

#include <vector>

#include "base/params.hpp"
#include "sim/tile/tile_grid.hpp"

namespace lacuna::cnvlutin {

// ASSUMPTION(C1): what a brick, the unit of encoding, is cut from.
enum class Bricks {
  kLane,  // values that one lane takes from consecutive steps: the lanes share a window as on the dense tiles
  kStep,  // the values of one step: a whole brick goes to one lane
};

struct Config {
  TileShape tile;
  Bricks bricks = Bricks::kLane;
  std::int64_t brick_values = 16;
  std::int64_t empty_brick_cycles = 0;
  std::int64_t window_cycles = 1;
  std::int64_t slice_steps = 0;  // 0: a whole window
  bool rows_wait = true;         // for each other at the end of each group of windows

  // Bits that say where in its brick a value belongs.
  int offset_bits() const;

  // Parameters of Cnvlutin alone; its tiles have those of TileChip.
  static std::vector<ParamSpec> params();
  static Config from(const Params& params, const TileShape& tile);
};

}  // namespace lacuna::cnvlutin
