// A chip of tiles with its memory system [TensorDash §3.3, §3.4, Table 2]: the part
// that all machines of tiles share. It states the hardware and turns what the tiles computed into the result
// of an operation.
#pragma once

#include <string>
#include <vector>

#include "base/params.hpp"
#include "sim/accelerator.hpp"
#include "sim/result.hpp"
#include "sim/tile/stream_products.hpp"
#include "sim/tile/tile_memory.hpp"

namespace lacuna {

// Work of the tiles in an operation, memory not yet included.
struct TileOutcome {
  ScheduledOperands scheduled = {};
  std::int64_t scheduled_macs = 0;
  std::int64_t effectual_macs = 0;
  std::int64_t compute_cycles = 0;
  std::vector<Counter> counters = {};
  // Rows that the machine reads in its own memories instead of the scratchpads.
  std::int64_t scratchpad_reads_elsewhere = 0;
  // One per product, by a functional engine that fetches its operands through transposers.
  std::vector<TransposedGroups> transposed = {};
  std::int64_t output_cycles = 0;  // of what handles the outputs behind the tiles; they wait for it
  std::optional<StoredForms> stored = std::nullopt;  // forms of the tensors in memory
  UnitRecord units = {};                             // of the tiles, if they are recorded

  TileOutcome& operator+=(const MultipliedPairs& pairs) {
    scheduled_macs += pairs.all;
    effectual_macs += pairs.effectual;
    return *this;
  }
};

// Returns the parameter for the energy of a multiplier while an operand is zero or missing.
ParamSpec zero_operands_param();

class TileChip {
 public:
  // `left_out`: with outputs=needed.
  explicit TileChip(const Params& params, LeftOutOutputs left_out = LeftOutOutputs::kNone);

  // Parameters of TilePlan, a machine's own, the one of zero operands, those of TileMemory.
  static std::vector<ParamSpec> params(std::vector<ParamSpec> own = {});

  const TilePlan& plan() const { return plan_; }
  const TileShape& tile() const { return plan_.tile; }
  DataType data_type() const { return data_type_; }
  const TileMemory& memory() const { return memory_; }
  double multipliers() const;  // of the chip
  // Costs are given for rows of 16 values; this many are a row of this chip.
  double rows_of_16() const { return static_cast<double>(tile().lanes) / 16; }

  // The chip, with what a machine adds to the logic of its tiles after cores and transposers.
  Hardware hardware(std::vector<Component> added_logic = {}) const;

  // As Accelerator::plan(); empty unless the memories have a size.
  std::vector<LayerPasses> plan(const Trace& trace, const SimOptions& options) const;

  Placement place(const Layer& layer, Operation op) const { return place_operation(layer, op, plan_); }

  // The tiles of the machine that multiplies every pair.
  UnitRecord dense_units(const Placement& placement) const;
  // "tile", or the part of a tile that a machine's clock counts.
  std::string unit_name(const UnitRecord& units) const;

  // The result, with the chip's own actions; a machine appends those of what it added.
  OpResult result(const OperationWork& work, const Placement& placement, const TileOutcome& outcome) const;

  // Rows of 16 values that the tiles write in the whole batch.
  double output_rows(const OpResult& result, double batch_scale) const;

 private:
  std::vector<MappingChoice> mapping(const OperationWork& work, const Placement& placement) const;
  void count_actions(OpResult& result, const TileTiming& timing, double batch_scale,
                     std::int64_t scratchpad_reads) const;

  TilePlan plan_;
  std::string zero_action_;  // of a multiplier without a pair of non-zeros
  DataType data_type_;
  TileMemory memory_;
};

// A few bits that a machine keeps with each value of one operand: offsets in a brick, positions in a group.
// They lie where the values lie and cost their share of a row there.
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
