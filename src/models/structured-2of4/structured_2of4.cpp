// The 2:4 sparsity of GPUs since Ampere [Mishra et al. 2021] on the tiles of the dense machine: where at most
// two of each four consecutive values of the pruned operand are not zero, two steps take one cycle.
#include <fmt/format.h>

#include "base/work_progress.hpp"
#include "models/structured-2of4/engine.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/tile/tile_chip.hpp"
#include "sim/tile/tile_machine.hpp"

namespace lacuna::structured_2of4 {
namespace {

class Structured2of4 final : public TileMachine {
 public:
  explicit Structured2of4(Params params)
      : TileMachine(std::move(params)), config_(Config::from(this->params(), tile())) {}

  std::optional<Hardware> hardware() const override {
    std::optional<Hardware> hardware = TileMachine::hardware();
    hardware->components.push_back(tags_component(metadata(), chip()));
    return hardware;
  }

  std::string remark(const RunResult& run) const override {
    const double groups = run.counter("groups_of_4"), violating = run.counter("violating_groups");
    if (groups == 0) return {};
    const double dropped = run.counter("macs_to_drop");
    double macs = 0;
    for (const LayerResult& layer : run.layers) {
      for (const OpResult& op : layer.ops) macs += static_cast<double>(op.macs);
    }
    return fmt::format(
        "{:.1f} % of the groups of four of {} hold more than two non-zeros; to make the pattern hold, {:.1f} "
        "% "
        "of all multiply-accumulates {} dropped",
        100 * violating / groups, params().text("pruned"), 100 * dropped / macs,
        config_.drop ? "are" : "would have to be");
  }

 protected:
  std::vector<Component> added_logic() const override {
    return {
        {"operand_muxes", "operand muxes", ComponentGroup::kCore, {{"mux_input", mux_inputs(), {"cycle"}}}}};
  }
  ScheduledOperands scheduled(const OperationWork& work, const Placement&) const override {
    return config_.applies(work.layer.shape, work.op) ? config_.pruned : ScheduledOperands();
  }
  std::vector<Counter> counters(const OperationWork& work) const override {
    const bool weights = work.layer.shape.once_per_batch(config_.pruned);
    return {{"groups_of_4", 0, weights},
            {"violating_groups", 0, weights},
            {"values_to_drop", 0, weights},
            {"macs_to_drop", 0}};
  }

  void count_product(const OperationWork& work, const Placement& placement, const PlacedProduct& product,
                     TileOutcome& outcome) const override {
    const PrunedSide side(product, config_);
    add(work, side, count_pattern(side), &product == &placement.placed.front(), outcome);
  }
  void execute(const OperationWork& work, const Placement& placement, LayerValues& values,
               std::vector<float>& computed, TileOutcome& outcome) const override {
    for (const PlacedProduct& product : in_steps(placement.placed)) {
      const PrunedSide side(product, config_);
      const PrunedWork pruned =
          execute_product(config_, work, *product.product, side, values, computed, outcome);
      add(work, side, pruned, &product == &placement.placed.front(), outcome);
    }
    if (config_.drop) {
      TensorValues& pruned = values.of(config_.pruned);
      pruned = prune(pruned, config_.pruned, work.layer.shape, work.op);
    }
  }
  void finish(const OperationWork&, const Placement& placement, TileOutcome& outcome) const override {
    const bool violated = outcome.counters[1].value > 0;
    if (violated && config_.granularity == Granularity::kOperand && !config_.drop)
      outcome.compute_cycles = placement.dense_cycles();
  }

  // Multiplexers and metadata rest where the pattern is not used.
  void count_actions(const OperationWork& work, const Placement& placement, const TileOutcome& outcome,
                     OpResult& result) const override {
    const bool applies = outcome.scheduled != ScheduledOperands();
    const double clocked = applies ? static_cast<double>(outcome.compute_cycles) * work.batch_scale : 0;
    result.actions.push_back({"operand_muxes", "mux_input", "cycle", mux_inputs() * clocked});
    if (applies) append_tags_actions(metadata(), chip(), work, placement, config_.pruned, result);
  }

 private:
  // ASSUMPTION(S5): two bits for each of the two that stay of four values.
  static ValueTags metadata() { return {"metadata", "metadata", 2.0 * kKept / kGroup, false}; }
  // ASSUMPTION(S6): each multiplier picks one of four values of the operand that is not pruned.
  double mux_inputs() const { return chip().multipliers() * kGroup; }

  void add(const OperationWork& work, const PrunedSide& side, const PrunedWork& pruned, bool is_first,
           TileOutcome& outcome) const {
    outcome.compute_cycles += chip_cycles(config_, side, pruned);
    outcome.counters[3].value += pruned.pattern.surplus * side.other->count();
    // The steps of a recurrent layer multiply by the same weights.
    if (config_.pruned == Operand::kW && work.layer.shape.sequence > 1 && !is_first) return;
    outcome.counters[0].value += pruned.pattern.groups;
    outcome.counters[1].value += pruned.pattern.violating;
    outcome.counters[2].value += pruned.pattern.surplus;
  }

  Config config_;
};

const RegisterAccelerator kRegister{{
    .name = "structured-2of4",
    .summary = "two of four: half the cycles where the pruned operand has at most two non-zeros in each four",
    .paper = "Mishra et al., Accelerating Sparse Deep Neural Networks, arXiv 2104.08378 (2021)",
    .cites = {"structured2of4"},
    .params = TileChip::params(Config::params()),
    .make = make_accelerator<Structured2of4>,
}};

}  // namespace
}  // namespace lacuna::structured_2of4
