// A machine of tiles that skips a step where the row operand is zero in all rows of a tile.
#include "base/work_progress.hpp"
#include "models/template/engine.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/tile/tile_chip.hpp"
#include "sim/tile/tile_pins.hpp"
#include "sim/work_estimate.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna::template_machine {
namespace {

class TemplateMachine final : public Accelerator {
 public:
  explicit TemplateMachine(Params params)
      : params_(resolve_tiles(std::move(params))),
        chip_(params_),
        config_(Config::from(params_, chip_.tile())) {}

  const Params& params() const override { return params_; }
  std::vector<LayerPasses> plan(const Trace& trace, const SimOptions& options) const override {
    return chip_.plan(trace, options);
  }

  // Speedups refer to the same tiles without skipping.
  std::optional<BaselineSpec> baseline() const override {
    return baseline_sharing("dense", params_, TileChip::params());
  }

  // The fast engine reads each word of the row operand once; what the machine takes without zeros is asked as
  // well.
  double work(const LayerShape& shape) const override {
    return 2 * tile_words(shape, config_.tile.lanes) + tile_products(shape);
  }

  // What is added to the tiles: here a part that the energy tables price already. A new part needs its costs
  // in configs/energy.
  std::optional<Hardware> hardware() const override {
    return chip_.hardware({{"zero_detectors",
                            "zero detectors",
                            ComponentGroup::kCore,
                            {{"scheduler_input", detector_inputs(), {"cycle"}}}}});
  }

  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override {
    const Placement placement = chip_.place(work.layer, work.op);
    TileOutcome outcome = options.engine == Engine::kFast ? run_fast(work, placement)
                                                          : run_values(work, placement, options.seed);
    OpResult result = chip_.result(work, placement, std::move(outcome));
    const double clocked = static_cast<double>(result.activity->compute_cycles) * work.batch_scale;
    result.actions.push_back({"zero_detectors", "scheduler_input", "cycle", detector_inputs() * clocked});
    return result;
  }

 private:
  // One detector per row of PEs, with an input per lane.
  double detector_inputs() const {
    return static_cast<double>(config_.tile.tiles * config_.tile.rows * config_.tile.lanes);
  }

  // Adds what a product takes.
  void add(const PlacedProduct& product, const GroupSteps& steps, TileOutcome& outcome) const {
    outcome.compute_cycles += chip_cycles(config_, product.grid, steps);
    for (const std::int64_t executed : steps) {
      outcome.counters[0].value += (product.rows->steps() - executed) * product.grid.column_groups;
    }
  }

  static TileOutcome empty_outcome(const Placement& placement) {
    return {.scheduled = placement.row_operand, .counters = {{"skipped_steps", 0}}};
  }

  TileOutcome run_fast(const OperationWork& work, const Placement& placement) const {
    TileOutcome outcome = empty_outcome(placement);
    outcome.scheduled_macs = work.macs.with(placement.row_operand, work.op);
    outcome.effectual_macs = work.macs.effectual;
    for (const PlacedProduct& product : in_steps(placement.placed)) {
      add(product, count_steps(config_, product), outcome);
    }
    return outcome;
  }

  TileOutcome run_values(const OperationWork& work, const Placement& placement, std::uint64_t seed) const {
    const LayerValues values = layer_values(work.layer, seed, chip_.data_type());
    const LayerShape& shape = work.layer.shape;
    std::vector<float> computed(static_cast<std::size_t>(result_elements(shape, work.op)), 0.0F);
    TileOutcome outcome = empty_outcome(placement);
    for (const PlacedProduct& product : in_steps(placement.placed)) {
      const FunctionalWork done = run_functional(config_, shape, work.op, product, values, computed);
      outcome.scheduled_macs += done.scheduled_macs;
      outcome.effectual_macs += done.effectual_macs;
      add(product, done.steps, outcome);
    }
    check_against_reference(shape, work.op, values, computed);
    return outcome;
  }

  Params params_;
  TileChip chip_;
  Config config_;
};

const RegisterAccelerator kRegister{{
    .name = "template",
    .summary = "one line for 'lacuna arch list': what the machine does about zeros",
    .paper = "authors, title, venue and year, and a DOI or an arXiv number",
    .params = TileChip::params(Config::params()),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      return std::make_unique<TemplateMachine>(std::move(params));
    },
}};

}  // namespace
}  // namespace lacuna::template_machine
