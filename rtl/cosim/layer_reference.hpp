// Recorded layers as the streams that a tile is fed with, and the cycles that the fast engine gives them on
// one tile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensordash_reference.hpp"
#include "trace/trace.hpp"

namespace lacuna::rtl {

// The recorded training step of `model` that ships with the program.
Trace recorded_trace(const std::string& model);

// Rows and columns of the tile that values are laid out for: small, so that its RTL compiles quickly.
inline constexpr int kLayerTile = 2;

// One product of an operation, with values.
struct RecordedProduct {
  std::vector<StreamGroup> row_groups;     // the scheduled operand; missing rows are zero
  std::vector<StreamGroup> column_groups;  // the other
  // Expected outputs of the PEs of each pair of groups, column groups innermost; 0 where no PE has an output.
  std::vector<std::vector<float>> outputs;
};
struct RecordedOperation {
  std::string name;
  std::vector<RecordedProduct> products;
  std::int64_t cycles = 0;
};
// The operation with the fewest cycles above `least_cycles`. `sides` as the model's parameter: `one` or
// `both`.
RecordedOperation smallest_operation(const Trace& trace, std::int64_t least_cycles,
                                     const std::string& sides = "one");

// The effectual bits alone, for tiles of the default 4 rows.
struct MaskedProduct {
  int steps = 0;
  std::vector<std::vector<std::uint64_t>> groups;  // [group][step * 4 + row]
  std::int64_t column_groups = 0;
};
struct MaskedOperation {
  std::string name;
  std::vector<MaskedProduct> products;
  std::int64_t cycles = 0;  // of the fast engine
  std::int64_t dense_cycles = 0;
  std::int64_t group_steps = 0;  // steps of all row groups: what a co-simulation has to go through
};
// All operations of a trace with at most `most_steps` group steps.
std::vector<MaskedOperation> masked_operations(const Trace& trace, std::int64_t most_steps);

}  // namespace lacuna::rtl
