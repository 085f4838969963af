// The parameters of structured-2of4, checked and resolved.
#pragma once

#include <vector>

#include "base/params.hpp"
#include "sim/tile/tile_grid.hpp"

namespace lacuna::structured_2of4 {

// ASSUMPTION(S1): in each group of four consecutive values along the reduction of any operation at most two
// are not zero.
inline constexpr int kGroup = 4;
inline constexpr int kKept = 2;
// Steps that fit one cycle where that holds.
inline constexpr std::int64_t kStretchSteps = kGroup / kKept;

// ASSUMPTION(S3): how much runs densely because of a group that does not fit.
enum class Granularity {
  kStretch,  // the two steps that it is in, for the streams that share a tile's rows or columns
  kStreams,  // all steps of those streams
  kOperand,  // the whole operation
};

struct Config {
  TileShape tile;
  Operand pruned = Operand::kW;
  bool drop = false;  // what does not fit; else it runs densely: ASSUMPTION(S2)
  Granularity granularity = Granularity::kStretch;

  // Returns true if an operation runs in the pattern, where it holds.
  bool applies(const LayerShape& shape, Operation op) const;

  // Parameters of this machine alone; its tiles have those of TileChip.
  static std::vector<ParamSpec> params();
  static Config from(const Params& params, const TileShape& tile);
};

}  // namespace lacuna::structured_2of4
