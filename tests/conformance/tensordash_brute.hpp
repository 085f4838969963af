// TensorDash once more, written from the rules alone and as plainly as possible: no masks, no shared mapping,
// no shared scheduler. Only for comparison; it is slow on purpose.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tensor/operation.hpp"
#include "trace/trace.hpp"

namespace lacuna::testing {

struct BruteConfig {
  std::int64_t rows = 4, columns = 4, tiles = 1;
  int lanes = 16, depth = 3;
  std::vector<std::pair<int, int>> movements;  // (step, lane offset), by priority
  bool decoupled = false;
  bool two_side = false;
  // Not 0: streams are cut into pieces of that many steps, each scheduled by itself, and each row goes its
  // own pace.
  std::int64_t piece = 0;
  bool square_grid = true;
  std::string dealing = "turns";  // of row groups: tile_dealing
  // Of an input gradient only the results where A is not zero: columns that no row of a group needs are left
  // out.
  bool needed = false;
};

struct BruteResult {
  std::int64_t dense_cycles = 0, cycles = 0, scheduled_macs = 0, effectual_macs = 0;
};

std::vector<std::pair<int, int>> brute_movements(const std::string& name, int lanes, int depth);

// `rows_operand` sits on the rows and is scheduled.
BruteResult brute_tensordash(const Layer& layer, Operation op, Operand rows_operand,
                             const BruteConfig& config);

}  // namespace lacuna::testing
