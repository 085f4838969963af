// The two engines: what they find in the pruned operand of a product.
#pragma once

#include <cstdint>
#include <vector>

#include "base/add_counts.hpp"
#include "base/params.hpp"
#include "sim/tile/tile_chip.hpp"
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

// The pruned operand of a product where it was placed.
struct PrunedSide {
  const OperandStreams* streams;
  const OperandStreams* other;
  std::int64_t together;  // streams that share the rows, or the columns, of a tile
  TileGrid grid;          // with the pruned operand's streams as its rows

  PrunedSide(const PlacedProduct& placed, const Config& config);
};

// Counts of groups of four by content; each as often as it is in a stream.
struct PatternCounts {
  std::int64_t groups = 0;
  std::int64_t violating = 0;  // more than two of four are not zero
  std::int64_t surplus = 0;    // values beyond two
  PatternCounts& operator+=(const PatternCounts& other) { return add_counts(*this, other); }
};

// Groups of four that hold an element, each as often as it is in a stream.
std::int64_t count_groups(const OperandStreams& streams);

// Streams that work together.
struct TogetherWork {
  bool fits = true;                   // in the pattern, all of it
  std::uint32_t dense_stretches = 0;  // of two steps, of which one does not fit
};

struct PrunedWork {
  PatternCounts pattern;
  std::vector<TogetherWork> together;
};

// Cycles of the chip for one product, of which only those groups run densely that have to.
std::int64_t chip_cycles(const Config& config, const PrunedSide& side, const PrunedWork& work);

// --- fast engine: bit masks ---
PrunedWork count_pattern(const PrunedSide& side);

// --- functional engine: values compressed into two slots per group ---
// Multiplies the values of a product. Dropped ones are among those scheduled.
PrunedWork execute_product(const Config& config, const OperationWork& work, const LaneProduct& product,
                           const PrunedSide& side, const LayerValues& values, std::vector<float>& result,
                           TileOutcome& outcome);

// The tensor with what violates the pattern in an operation set to zero: the two largest of each four
// consecutive values along the reduction stay, the first ones of equals. Works on the tensor itself, not on
// streams.
TensorValues prune(const TensorValues& values, Operand role, const LayerShape& shape, Operation op);

}  // namespace lacuna::structured_2of4
