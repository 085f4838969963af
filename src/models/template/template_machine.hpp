// A machine of tiles that skips a step where the row operand is zero in all rows of a tile.
#pragma once

#include <vector>

#include "sim/tile/tile_machine.hpp"

namespace lacuna::template_machine {

class TemplateMachine : public TileMachine {
 public:
  explicit TemplateMachine(Params params);

  // Parameters of this machine alone; its tiles have those of TileChip.
  static std::vector<ParamSpec> own_params();

 protected:
  // Components added to the tiles: here a part that the energy tables price already. A new part needs its
  // costs in configs/energy.
  std::vector<Component> added_logic() const override;
  ScheduledOperands scheduled(const OperationWork&, const Placement& placement) const override {
    return placement.row_operand;
  }
  std::vector<Counter> counters(const OperationWork&) const override { return {{"skipped_steps", 0}}; }
  void count_product(const OperationWork& work, const Placement& placement, const PlacedProduct& product,
                     TileOutcome& outcome) const override;
  void execute(const OperationWork& work, const Placement& placement, LayerValues& values,
               std::vector<float>& computed, TileOutcome& outcome) const override;
  void count_actions(const OperationWork& work, const Placement& placement, const TileOutcome& outcome,
                     OpResult& result) const override;

 private:
  // Both engines, by group of streams that are on a tile's rows together: steps in which one of them has a
  // non-zero, to cycles of the chip.
  void add_groups(const PlacedProduct& product, const std::vector<std::int64_t>& steps,
                  TileOutcome& outcome) const;
  double detector_inputs() const;

  std::int64_t window_cycles_;  // the least that a group of streams takes
};

}  // namespace lacuna::template_machine
