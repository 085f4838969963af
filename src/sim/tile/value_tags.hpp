// A few bits that a machine keeps with each value of one operand: offsets in a brick, positions in a group.
// They lie where the values lie and cost their share of a row there.
#pragma once

#include <string>
#include <vector>

#include "sim/tile/tile_chip.hpp"

namespace lacuna {

struct ValueTags {
  std::string component;  // as in results
  std::string title;
  double bits = 0;    // per value
  bool on_rows_only;  // the operand is always the one on the rows; else it may be on either side
};

// The tags' part of BM (or of AM and BM) and of the scratchpads, as a component.
Component tags_component(const ValueTags& tags, const TileChip& chip);

// Appends what the tags of operand `role` do in an operation: they are written when the tensor is brought to
// the chip, read and passed on with each row of its values.
void append_tags_actions(const ValueTags& tags, const TileChip& chip, const OperationWork& work,
                         const Placement& placement, Operand role, OpResult& result);

}  // namespace lacuna
