// The memory system around the tiles [TensorDash §3.4, Table 2]: DRAM with zero compression, AM, BM and CM,
// the transposers and the scratchpads. One description for every machine of tiles, skipping zeros or not: the
// same operands reach the tiles in either, so the same rows and bytes are moved.
//
//   DRAM -> AM, BM -> (transposers) -> scratchpads -> tiles -> scratchpads (partial sums) -> CM -> DRAM
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ceil_div.hpp"
#include "base/params.hpp"
#include "energy/components.hpp"
#include "sim/memory/dram.hpp"
#include "sim/memory/dram_requests.hpp"
#include "sim/tile/sized_memory.hpp"
#include "sim/tile/tile_placement.hpp"
#include "sim/workload/operation_work.hpp"

namespace lacuna {

// Time of the transposers between SRAM and scratchpads [TensorDash §3.4]. A transposer takes up 16
// blocks, line by line, and gives them back column by column; it has two buffers, so that it fills one while
// it empties the other. ASSUMPTION(A13): each takes `cycles`.
struct TransposerTiming {
  static constexpr std::int64_t kSide = 16;  // lines and columns of a transposer

  std::int64_t transposers = 15;
  std::int64_t cycles = 16;  // to fill a buffer, and to empty it
  // A group has lanes x lanes values. Wider groups are cut for several transposers, narrower ones share one.
  std::int64_t lanes = 16;

  // Until the last column is out, if the tiles never wait: all transposers fill and empty in step.
  std::int64_t total(std::int64_t groups) const {
    if (groups == 0) return 0;
    return (ceil_div(groups * lanes * lanes, transposers * kSide * kSide) + 1) * cycles;
  }
};

// The same, group by group: what the closed form above is tested against and the functional engine runs.
class TransposerBank {
 public:
  explicit TransposerBank(const TransposerTiming& timing)
      : timing_(timing), state_(static_cast<std::size_t>(timing.transposers)) {}

  void add_group() {
    constexpr std::int64_t kHolds = TransposerTiming::kSide * TransposerTiming::kSide;
    for (waiting_ += timing_.lanes * timing_.lanes; waiting_ >= kHolds; waiting_ -= kHolds) start_fill();
  }
  // All groups, once there are no more: the cycle in which the last column leaves.
  std::int64_t finish() {
    if (waiting_ > 0) start_fill();
    waiting_ = 0;
    return end_;
  }

 private:
  struct Transposer {
    std::int64_t filled = 0;                    // when its lines are free to take up the next group
    std::int64_t emptied = 0;                   // when its columns are
    std::array<std::int64_t, 2> buffer_free{};  // when each buffer is
    int next_buffer = 0;
  };

  void start_fill() {
    Transposer& t = state_[next_];
    next_ = (next_ + 1) % state_.size();
    std::int64_t& buffer_free = t.buffer_free[static_cast<std::size_t>(t.next_buffer)];
    t.next_buffer ^= 1;
    t.filled = std::max(t.filled, buffer_free) + timing_.cycles;
    t.emptied = std::max(t.filled, t.emptied) + timing_.cycles;
    buffer_free = t.emptied;
    end_ = std::max(end_, t.emptied);
  }

  TransposerTiming timing_;
  std::vector<Transposer> state_;
  std::size_t next_ = 0;
  std::int64_t waiting_ = 0;  // values of groups that do not fill a buffer yet
  std::int64_t end_ = 0;
};

// The parameters of a TileMemory, declared once for every machine that has one.
std::vector<ParamSpec> memory_params();

// A tensor that memory holds in another form than rows of values, such as TensorDash's scheduled form (§3.6).
// Unless it is used as it is stored, it is expanded on its way into the scratchpads, so what follows them
// does not change.
struct StoredForm {
  double on_chip_share = 1;         // of the rows that its dense form takes in AM, BM or CM
  std::int64_t off_chip_bytes = 0;  // on the DRAM bus, in place of zero compression
  bool executed = false;            // the scratchpads hold it in this form as well; row operand only
};
using StoredForms = PerOperand<std::optional<StoredForm>>;  // nothing: rows of values

// Rows of `lanes` values that pass through the scratchpads, by operand.
struct ScratchpadTraffic {
  std::int64_t row_reads = 0;
  std::int64_t row_writes = 0;
  std::int64_t column_reads = 0;
  std::int64_t column_writes = 0;
};

// Groups of lanes x lanes values that transposers passed on for all streams of a product to be seen once.
// Nothing: nobody looked, they follow from the shapes.
struct TransposedGroups {
  std::optional<std::int64_t> rows, columns;  // by operand
};

// Input to the memory about an operation, besides the cycles of the tiles.
struct TileTimeInputs {
  const StoredForms* stored = nullptr;  // tensors are in these forms
  std::int64_t output_cycles = 0;       // for outputs behind the tiles, which wait for it
  // Groups of each product: the transposers' time is then that of each block, not the closed form.
  const std::vector<TransposedGroups>* transposed = nullptr;
};

// Whole cycles, less what only rounding added.
inline std::int64_t ceil_cycles(double cycles) { return static_cast<std::int64_t>(std::ceil(cycles - 1e-9)); }

// The time of an operation with its memory, and what that memory did.
struct TileTiming {
  Activity activity;
  std::int64_t cycles = 0;
  // Energy of an access of AM, BM and CM over that of a bank of Table 2, on average.
  double read_cost = 1, write_cost = 1;
  std::vector<DramTensor> dram_tensors = {};
};

class TileMemory {
 public:
  TileMemory(const Params& params, const TileShape& tile);

  // `compute_cycles`: of the tiles alone. With memory=modelled the total is the pipeline's, else the tiles'.
  // Reading the weights is spread over the batch.
  TileTiming time(const OperationWork& work, const Placement& placement, std::int64_t compute_cycles,
                  const TileTimeInputs& inputs = {}) const;

  ScratchpadTraffic scratchpads(const Placement& placement) const;

  // Number of times that the operands cross the DRAM bus; once each unless memories have a size.
  TensorPasses passes(const OperationWork& work, Operand row_operand) const;
  // The operands that come through transposers: "G", "A,G"; "none".
  std::string transposed(Operation op) const;

  const Dram& dram() const { return dram_; }
  const SizedMemory& sized() const { return sized_; }
  std::int64_t sram_banks() const { return sram_banks_; }  // of each of AM, BM and CM, on the chip

  // In the units that costs are given for.
  double sram_units() const;           // banks with rows of 16 values, of each of AM, BM and CM
  double sram_capacity_units() const;  // of all three, larger or smaller ones in proportion
  // Scratchpads as large as those of Table 2, 8 to a unit; `lines`: rows or columns of PEs with one each.
  double scratchpad_units(std::int64_t lines) const;
  double transposer_units() const;  // transposers of 16 x 16 values

  // Sizes of the memories (see DesignTotal).
  std::vector<DesignTotal> totals() const;

 private:
  // Rows and cycles of AM, BM and CM.
  struct Streams {
    std::int64_t row_reads = 0;
    std::int64_t column_reads = 0;
    std::int64_t row_groups = 0;  // if they come through transposers
    std::int64_t column_groups = 0;
  };

  void count(const OperationWork& work, const Placement& placement, std::int64_t compute_cycles,
             const TileTimeInputs& inputs, TileTiming& timing) const;
  std::int64_t pipeline(const Activity& activity, std::int64_t output_cycles, double batch_scale,
                        Bound& bound) const;
  void count_product(const PlacedProduct& placed, const TransposedGroups& fetched, Activity& activity,
                     Streams& streams, ScratchpadTraffic& scratchpads) const;
  void count_tensors(const OperationWork& work, Operand row_operand, const StoredForms* stored,
                     Activity& activity, TensorTraffic& on_rows, TensorTraffic& on_columns,
                     TensorTraffic& output, std::vector<DramTensor>& tensors) const;
  DramTensor dram_tensor(const Layer& layer, Operand role, Operation op) const;
  void count_transposers(Operation op, const Placement& placement, const Streams& streams, bool fetched,
                         Activity& activity) const;
  TensorTraffic operand_traffic(std::int64_t elements, std::int64_t nonzeros) const;
  TensorTraffic output_traffic(std::int64_t elements, std::int64_t nonzeros) const;
  void price_accesses(const OperationWork& work, const TensorTraffic& on_rows,
                      const TensorTraffic& on_columns, const TensorTraffic& output, Operand row_operand,
                      TileTiming& timing) const;
  // The lanes of W in W*G, and of G and A in A*G, run across the blocks that they are stored in. [TensorDash
  // §3.4] transposes "the weights and the gradients"; ASSUMPTION(A13): how A comes in A*G.
  bool is_transposed(Operand role, Operation op) const {
    return op == Operation::kWeightGrad ? role == Operand::kG || transpose_a_
                                        : op == Operation::kInputGrad && role == Operand::kW;
  }
  double first_and_last_block(std::int64_t read_bytes, std::int64_t write_bytes) const;

  TileShape tile_;
  Dram dram_;
  std::int64_t sram_banks_;
  SizedMemory sized_;
  std::int64_t multicast_;
  std::int64_t scratchpad_banks_;
  std::int64_t scratchpad_rows_;
  std::int64_t chunk_steps_;
  std::int64_t streams_per_line_;   // of one operand that a scratchpad holds for one row or column of PEs
  std::int64_t transposers_;        // of 16 lanes
  std::int64_t transposer_cycles_;  // for a group of 16 x 16 values
  bool transpose_a_;
};

}  // namespace lacuna
