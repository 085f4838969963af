// A machine of tiles: the dense machine, with what a model changes about it. TileMachine itself multiplies
// every pair; a model overrides which operand's zeros it skips, how both engines run a product, and what it
// adds to the chip.
#pragma once

#include <string>
#include <vector>

#include "sim/accelerator.hpp"
#include "sim/tile/tile_chip.hpp"
#include "sim/workload/layer_values.hpp"

namespace lacuna {

class TileMachine : public Accelerator {
 public:
  // `left_out`: with outputs=needed, if the model has that parameter (outputs_param()).
  explicit TileMachine(Params params, LeftOutOutputs left_out = LeftOutOutputs::kGroups);

  const Params& params() const final { return params_; }
  std::vector<LayerPasses> plan(const Trace& trace, const SimOptions& options) const final {
    return chip_.plan(trace, options);
  }
  // The same tiles without what skips zeros.
  std::optional<BaselineSpec> baseline() const override;
  std::optional<Hardware> hardware() const override { return chip_.hardware(added_logic()); }
  // A fast engine that reads each word of the row operand once, asked for the cycles without zeros as well.
  double work(const LayerShape& shape) const override;
  std::string sharing_key() const override { return compute_key_; }

  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override;

 protected:
  const TileChip& chip() const { return chip_; }
  const TileShape& tile() const { return chip_.tile(); }

  // Components of the machine's own next to the PEs.
  virtual std::vector<Component> added_logic() const { return {}; }
  // The operands whose zeros are skipped. Nothing: the operation runs as on the dense machine, and none of
  // the engines below is asked.
  virtual ScheduledOperands scheduled(const OperationWork& work, const Placement& placement) const;
  // The machine's counters, all zero.
  virtual std::vector<Counter> counters(const OperationWork&) const { return {}; }
  // Fast engine: adds cycles and counters of a product, from masks.
  virtual void count_product(const OperationWork& work, const Placement& placement,
                             const PlacedProduct& product, TileOutcome& outcome) const;
  // Functional engine: adds the results of all products to `computed`, and what was executed to `outcome`. It
  // goes by values alone, never by masks: the conformance suite runs it on layers whose masks are wrong.
  // `computed` is compared with the reference convolution of `values`, so a machine that drops values does so
  // there as well.
  virtual void execute(const OperationWork& work, const Placement& placement, LayerValues& values,
                       std::vector<float>& computed, TileOutcome& outcome) const;
  // Adds what follows from the parameters of the memory, after either engine: outcomes are shared between
  // machines that differ in those alone.
  virtual void finish(const OperationWork&, const Placement&, TileOutcome&) const {}
  // Appends the actions of what the machine adds to the chip.
  virtual void count_actions(const OperationWork&, const Placement&, const TileOutcome&, OpResult&) const {}

 private:
  TileOutcome run_fast(const OperationWork& work, const Placement& placement, bool units) const;
  TileOutcome run_values(const OperationWork& work, const Placement& placement,
                         const SimOptions& options) const;
  TileOutcome empty_outcome(const OperationWork& work, const Placement& placement) const;

  Params params_;
  TileChip chip_;
  std::string compute_key_;  // all parameters but the memory's
};

}  // namespace lacuna
