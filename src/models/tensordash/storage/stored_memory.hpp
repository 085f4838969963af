// Tensors kept in scheduled form: what that adds to the chip, and its part in an operation [TensorDash §3.6,
// §3.7]: decompressors where operands are expanded, schedulers behind the PEs, shorter tensors in memory.
#pragma once

#include <vector>

#include "models/tensordash/config.hpp"
#include "sim/tile/tile_chip.hpp"

namespace lacuna::tensordash {

class StoredMemory {
 public:
  StoredMemory(const Config& config, const TileChip& chip);

  bool used() const { return config_.storage != Storage::kDense; }

  // Decompressors [TensorDash Fig. 12] and backside schedulers [§3.7].
  std::vector<Component> components() const;

  // The form of each tensor in memory; `executed`: the row operand's schedule is run as it is stored.
  StoredForms forms(const OperationWork& work, Operand row_operand, bool executed) const;

  // Adds what the backside schedulers need for the outputs of the operation, and their stalls as a counter.
  void schedule_outputs(const OperationWork& work, TileOutcome& outcome) const;

  // The actions of components(). `forms`: those of the operation.
  void count_actions(const OperationWork& work, Operand row_operand, const StoredForms& forms,
                     OpResult& result) const;

  // The tensors of a layer as they come back from memory.
  LayerValues through_memory(const LayerShape& shape, LayerValues values) const;
  // The outputs as they come back after the backside schedulers have stored them.
  std::vector<float> stored_outputs(const LayerShape& shape, Operation op,
                                    const std::vector<float>& outputs) const;

 private:
  bool stores_output(Operation op) const { return config_.has_backside() && op != Operation::kWeightGrad; }
  double mux_inputs() const;  // of the multiplexers of one row of lanes

  const Config& config_;
  const TileChip& chip_;
};

}  // namespace lacuna::tensordash
