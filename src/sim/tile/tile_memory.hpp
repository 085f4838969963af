// The memory system around the tiles [TensorDash §3.4, Table 2]: DRAM with zero compression, AM, BM and CM,
// the transposers and the scratchpads. One description for every machine of tiles, skipping zeros or not: the
// same operands reach the tiles in either, so the same rows and bytes are moved.
//
//   DRAM -> AM, BM -> (transposers) -> scratchpads -> tiles -> scratchpads (partial sums) -> CM -> DRAM
#pragma once

#include <array>
#include <vector>

#include "base/params.hpp"
#include "sim/memory/dram.hpp"
#include "sim/result.hpp"
#include "sim/tile/tile_grid.hpp"

namespace lacuna {

// The parameters of a TileMemory, declared once for every machine that has one.
std::vector<ParamSpec> memory_params();

// Whether the lanes of an operand run across the blocks it is stored in, so that it comes through the
// transposers: W in W*G; G and A in A*G [TensorDash §3.4].
constexpr bool is_transposed(TensorRole role, Operation op) {
  return op == Operation::kWeightGrad || (op == Operation::kInputGrad && role == TensorRole::kW);
}

// A tensor that memory holds in another form than rows of values, such as TensorDash's scheduled form (§3.6).
// It is expanded on its way into the scratchpads, so what follows them does not change.
struct StoredForm {
  double on_chip_share = 1;         // of the rows that its dense form takes in AM, BM or CM
  std::int64_t off_chip_bytes = 0;  // on the DRAM bus, in place of zero compression
};
using StoredForms = std::array<StoredForm, 3>;  // by TensorRole

class TileMemory {
 public:
  TileMemory(const Params& params, const TileShape& tile);

  // Adds the activity of an operation whose compute cycles are in `result`. With memory=modelled, the cycles
  // become those of the pipeline, of the machine and of the dense one alike. `batch_scale`: how many times
  // the samples recorded make up the batch, over which reading the weights is spread.
  // With `stored`, the machine's tensors are in those forms; the dense machine's never are.
  void apply(const Layer& layer, Operation op, const std::vector<PlacedProduct>& products, double batch_scale,
             OpResult& result, const StoredForms* stored = nullptr) const;

  // What the costs of a machine are counted from; the model adds what it has on top of its tiles.
  TileHardware hardware() const;

 private:
  // Rows and cycles of AM, BM and CM.
  struct Streams {
    std::int64_t row_reads = 0;
    std::int64_t column_reads = 0;
  };

  Activity count(const Layer& layer, Operation op, const std::vector<PlacedProduct>& products,
                 double batch_scale, const OpResult& result, const StoredForms* stored) const;
  void count_product(const PlacedProduct& placed, Activity& activity, Streams& streams) const;
  void count_tensors(const Layer& layer, Operation op, TensorRole row_operand, const StoredForms* stored,
                     Activity& activity, TensorTraffic& on_rows, TensorTraffic& on_columns,
                     TensorTraffic& output) const;
  void count_transposers(const Layer& layer, Operation op, TensorRole row_operand, const Streams& streams,
                         Activity& activity) const;
  TensorTraffic operand_traffic(std::int64_t elements, std::int64_t nonzeros) const;
  TensorTraffic output_traffic(std::int64_t elements, std::int64_t nonzeros) const;
  double first_and_last_block(std::int64_t read_bytes, std::int64_t write_bytes) const;

  TileShape tile_;
  Dram dram_;
  std::int64_t sram_banks_;
  std::int64_t multicast_;
  std::int64_t scratchpad_banks_;
  std::int64_t scratchpad_rows_;
  std::int64_t chunk_steps_;
  std::int64_t streams_a_line_;  // of one operand that a scratchpad holds for one row or column of PEs
  std::int64_t transposers_;
  std::int64_t transposer_cycles_;
};

}  // namespace lacuna
