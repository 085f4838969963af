// The 2:4 sparsity of GPUs since Ampere [Mishra et al. 2021] on the tiles of the dense machine: where at most
// two of each four consecutive values of the pruned operand are not zero, two steps take one cycle.
#include <fmt/format.h>

#include "base/work_progress.hpp"
#include "models/structured-2of4/engine.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/tile/stream_products.hpp"
#include "sim/tile/tile_pins.hpp"
#include "sim/tile/value_tags.hpp"
#include "sim/work_estimate.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna::structured {
namespace {

class Structured2of4 final : public Accelerator {
 public:
  explicit Structured2of4(Params params)
      : params_(resolve_tiles(std::move(params))),
        chip_(params_),
        config_(Config::from(params_, chip_.tile())) {}

  const Params& params() const override { return params_; }
  std::vector<LayerPasses> plan(const Trace& trace, const SimOptions& options) const override {
    return chip_.plan(trace, options);
  }
  std::optional<BaselineSpec> baseline() const override {
    return baseline_sharing("dense", params_, TileChip::params());
  }
  double work(const LayerShape& shape) const override {
    return 2 * tile_words(shape, config_.tile.lanes) + tile_products(shape);
  }

  std::string sharing_key() const override { return compute_key_; }

  std::optional<Hardware> hardware() const override {
    Hardware hardware = chip_.hardware({{"operand_muxes",
                                         "operand muxes",
                                         ComponentGroup::kCore,
                                         {{"mux_input", mux_inputs(), {"cycle"}}}}});
    hardware.components.push_back(tags_component(metadata(), chip_));
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
        "% of all "
        "multiply-accumulates {} dropped",
        100 * violating / groups, params_.text("pruned"), 100 * dropped / macs,
        config_.drop ? "are" : "would have to be");
  }

  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override {
    const Placement placement = chip_.place(work.layer, work.op);
    const bool applies = config_.applies(work.layer.shape, work.op);
    TileOutcome outcome =
        options.engine == Engine::kFast
            ? *work.remember<TileOutcome>(compute_key_, [&] { return run_fast(work, placement, applies); })
            : run_values(work, placement, applies, options.seed);
    OpResult result = chip_.result(work, placement, std::move(outcome));
    // Multiplexers and metadata rest where the pattern is not used.
    const double clocked =
        applies ? static_cast<double>(result.activity->compute_cycles) * work.batch_scale : 0;
    result.actions.push_back({"operand_muxes", "mux_input", "cycle", mux_inputs() * clocked});
    if (applies) {
      for (ActionCount& count :
           tags_actions(metadata(), chip_, work, placement, *result.activity, config_.pruned)) {
        result.actions.push_back(std::move(count));
      }
    }
    return result;
  }

 private:
  // ASSUMPTION(S5): two bits for each of the two that stay of four values.
  static ValueTags metadata() { return {"metadata", "metadata", 2.0 * kKept / kGroup, false}; }
  // ASSUMPTION(S6): each multiplier picks one of four values of the operand that is not pruned.
  double mux_inputs() const { return chip_.multipliers() * kGroup; }

  // From what the products hold to cycles.
  TileOutcome outcome(const LayerShape& shape, const std::vector<PrunedSide>& sides,
                      const std::vector<PrunedWork>& works) const {
    TileOutcome outcome{.scheduled = config_.pruned};
    PatternCounts all;
    std::int64_t dropped_macs = 0;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      // The steps of a recurrent layer multiply by the same weights.
      const bool again = config_.pruned == Operand::kW && shape.sequence > 1 && i > 0;
      if (!again) all += works[i].pattern;
      dropped_macs += works[i].pattern.surplus * sides[i].other->count();
    }
    const bool weights = shape.once_per_batch(config_.pruned);
    outcome.counters = {{"groups_of_4", all.groups, weights},
                        {"violating_groups", all.violating, weights},
                        {"values_to_drop", all.surplus, weights},
                        {"macs_to_drop", dropped_macs}};
    outcome.compute_cycles = cycles(sides, works);
    return outcome;
  }

  std::int64_t cycles(const std::vector<PrunedSide>& sides, const std::vector<PrunedWork>& works) const {
    bool all_dense = false;
    for (const PrunedWork& work : works)
      all_dense |= config_.granularity == Granularity::kOperand && work.pattern.violating > 0;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < sides.size(); ++i) sum += chip_cycles(config_, sides[i], works[i], all_dense);
    return sum;
  }

  std::vector<PrunedSide> sides_of(const Placement& placement) const {
    std::vector<PrunedSide> sides;
    for (const PlacedProduct& placed : placement.placed) sides.emplace_back(placed, config_);
    return sides;
  }

  TileOutcome run_dense(const Placement& placement) const {
    const std::int64_t cycles = placement.dense_cycles();
    return {.scheduled = {},
            .compute_cycles = cycles,
            .counters = {
                {"groups_of_4", 0}, {"violating_groups", 0}, {"values_to_drop", 0}, {"macs_to_drop", 0}}};
  }

  TileOutcome run_fast(const OperationWork& work, const Placement& placement, bool applies) const {
    TileOutcome result = run_dense(placement);
    result.scheduled_macs = work.macs.macs;
    if (applies) {
      const std::vector<PrunedSide> sides = sides_of(placement);
      std::vector<PrunedWork> works;
      for (const PrunedSide& side : in_steps(sides)) works.push_back(count_pattern(side));
      result = outcome(work.layer.shape, sides, works);
      result.scheduled_macs = work.macs.with(config_.pruned, work.op);
    }
    result.effectual_macs = work.macs.effectual;
    return result;
  }

  TileOutcome run_values(const OperationWork& work, const Placement& placement, bool applies,
                         std::uint64_t seed) const {
    LayerValues values = layer_values(work.layer, seed, chip_.data_type());
    const LayerShape& shape = work.layer.shape;
    std::vector<float> computed(static_cast<std::size_t>(result_elements(shape, work.op)), 0.0F);
    if (!applies) {
      TileOutcome result = run_dense(placement);
      result.scheduled_macs = work.macs.macs;
      result.effectual_macs = multiply_all(placement.products, shape, work.op, values, computed);
      check_against_reference(shape, work.op, values, computed);
      return result;
    }
    const std::vector<PrunedSide> sides = sides_of(placement);
    std::vector<PrunedWork> works;
    std::int64_t scheduled = 0, effectual = 0;
    WorkSteps steps(std::ssize(sides));
    for (std::size_t i = 0; i < sides.size(); ++i, steps.next()) {
      FunctionalWork done =
          run_functional(config_, shape, work.op, *placement.placed[i].product, sides[i], values, computed);
      scheduled += done.scheduled_macs;
      effectual += done.effectual_macs;
      works.push_back(std::move(done.pruned));
    }
    if (config_.drop) {
      TensorValues& pruned = config_.pruned == Operand::kA   ? values.a
                             : config_.pruned == Operand::kW ? values.w
                                                             : values.g;
      pruned = prune(pruned, config_.pruned, shape, work.op);
    }
    check_against_reference(shape, work.op, values, computed);
    TileOutcome result = outcome(shape, sides, works);
    result.scheduled_macs = scheduled;
    result.effectual_macs = effectual;
    return result;
  }

  Params params_;
  TileChip chip_;
  Config config_;
  std::string compute_key_ = memo_key(params_, memory_params());
};

const RegisterAccelerator kRegister{{
    .name = "structured-2of4",
    .summary = "two of four: half the cycles where the pruned operand has at most two non-zeros in each four",
    .paper = "Mishra et al., Accelerating Sparse Deep Neural Networks, arXiv 2104.08378 (2021)",
    .params = TileChip::params(Config::params()),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      return std::make_unique<Structured2of4>(std::move(params));
    },
}};

}  // namespace
}  // namespace lacuna::structured
