// The parameters, checked and resolved.
#pragma once

#include <vector>

#include "base/params.hpp"
#include "sim/tile/tile_grid.hpp"

namespace lacuna::template_machine {

struct Config {
  TileShape tile;
  std::int64_t window_cycles = 1;  // the least that a group of streams takes

  // Of this machine alone; its tiles have those of TileChip.
  static std::vector<ParamSpec> params();
  // Throw InputError here for values that do not go together.
  static Config from(const Params& params, const TileShape& tile);
};

}  // namespace lacuna::template_machine
