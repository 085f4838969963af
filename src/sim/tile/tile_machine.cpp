#include "sim/tile/tile_machine.hpp"

#include <stdexcept>

#include "base/work_progress.hpp"
#include "sim/memory/memory_actions.hpp"
#include "sim/tile/stream_products.hpp"
#include "sim/tile/tile_placement.hpp"
#include "sim/work_estimate.hpp"
#include "sim/workload/stream_classes.hpp"

namespace lacuna {

TileMachine::TileMachine(Params params, LeftOutOutputs left_out)
    : params_(resolve_tiles(std::move(params))),
      chip_(params_, left_out),
      compute_key_(memo_key(params_, memory_params(), {"zero_operands"})) {}

std::optional<BaselineSpec> TileMachine::baseline() const {
  BaselineSpec spec = baseline_sharing("dense", params_, TileChip::params());
  for (auto& [name, value] : spec.settings) {
    if (name == "zero_operands" && value == "gated-baseline") value = "gated";
  }
  return spec;
}

double TileMachine::work(const LayerShape& shape) const {
  return 2 * tile_words(shape, tile().lanes) + tile_products(shape);
}

ScheduledOperands TileMachine::scheduled(const OperationWork&, const Placement&) const { return {}; }

void TileMachine::count_product(const OperationWork&, const Placement&, const PlacedProduct&,
                                TileOutcome&) const {
  throw std::logic_error("a machine that skips zeros counts its products");
}

void TileMachine::execute(const OperationWork&, const Placement&, LayerValues&, std::vector<float>&,
                          TileOutcome&) const {
  throw std::logic_error("a machine that skips zeros executes its products");
}

OpResult TileMachine::simulate(const OperationWork& work, const SimOptions& options) const {
  const Placement placement = chip_.place(work.layer, work.op);
  TileOutcome outcome = options.engine == Engine::kFast
                            ? *work.remember<TileOutcome>(
                                  compute_key_, [&] { return run_fast(work, placement, options.units); })
                            : run_values(work, placement, options);
  finish(work, placement, outcome);
  OpResult result = chip_.result(work, placement, outcome);
  result.units = std::move(outcome.units);
  count_actions(work, placement, outcome, result);
  const Dram& dram = chip_.memory().dram();
  if (dram.all_static()) append_static_actions(*hardware(), dram, work.batch_scale, result);
  return result;
}

TileOutcome TileMachine::empty_outcome(const OperationWork& work, const Placement& placement) const {
  return {.scheduled = scheduled(work, placement), .counters = counters(work)};
}

TileOutcome TileMachine::run_fast(const OperationWork& work, const Placement& placement, bool units) const {
  const UnitRecording off(nullptr);  // of whatever this thread was recording
  const TileOutcome empty = empty_outcome(work, placement);
  TileOutcome outcome = empty;
  const MacCounts macs = chip_.plan().left_out == LeftOutOutputs::kNone ? work.macs : work.needed_macs();
  outcome.scheduled_macs = macs.scheduled(outcome.scheduled, work.op);
  outcome.effectual_macs = macs.effectual;
  if (outcome.scheduled == ScheduledOperands()) {
    outcome.compute_cycles = placement.dense_cycles();
    if (units) outcome.units = chip_.dense_units(placement);
    return outcome;
  }
  const auto skips_none = [&](const OperandStreams* streams) {
    return !outcome.scheduled.contains(streams->role) || has_no_zeros(*streams);
  };
  std::vector<TileOutcome> parts;
  for (const PlacedProduct& product : in_steps(placement.placed)) {
    const std::size_t alike = alike_product(parts.size(), placement.placed.size(), work.layer.shape.groups);
    if (alike < parts.size() && product.needed == nullptr && skips_none(product.rows) &&
        skips_none(product.columns)) {
      parts.push_back(parts[alike]);
    } else {
      parts.push_back(empty);
      const UnitRecording recording(units ? &parts.back().units : nullptr);
      count_product(work, placement, product, parts.back());
    }
    outcome.compute_cycles += parts.back().compute_cycles;
    outcome.units.append(parts.back().units);
    for (std::size_t i = 0; i < outcome.counters.size(); ++i)
      outcome.counters[i].value += parts.back().counters[i].value;
  }
  if (units) outcome.units.unit = chip_.unit_name(outcome.units);
  return outcome;
}

TileOutcome TileMachine::run_values(const OperationWork& work, const Placement& recorded,
                                    const SimOptions& options) const {
  const LayerShape& shape = work.layer.shape;
  LayerValues values = layer_values(work.layer, options.seed, chip_.data_type());
  const bool leaves_out = chip_.plan().leaves_out(work.layer, work.op);
  std::optional<ValueMask> of_a;
  std::optional<Placement> by_values;
  if (leaves_out) {
    of_a.emplace(values.a);
    by_values.emplace(chip_.place(work.layer, work.op));
    leave_out_outputs(work.layer, work.op, chip_.plan(), of_a->view(), *by_values);
  }
  const Placement& placement = by_values ? *by_values : recorded;
  std::vector<float> computed(static_cast<std::size_t>(result_elements(shape, work.op)), 0.0F);
  TileOutcome outcome = empty_outcome(work, placement);
  if (outcome.scheduled == ScheduledOperands()) {
    // Zeros change nothing here, so both engines take the cycles of the placement;
    // tests/conformance/tile_brute counts them a second time.
    outcome.compute_cycles = placement.dense_cycles();
    outcome.scheduled_macs = leaves_out ? placement.needed_macs(work.macs.macs) : work.macs.macs;
    outcome.effectual_macs = multiply_all(placement.placed, shape, work.op, values, computed);
    if (options.units) outcome.units = chip_.dense_units(placement);
  } else {
    UnitRecord units;
    {
      const UnitRecording recording(options.units ? &units : nullptr);
      execute(work, placement, values, computed, outcome);
    }
    if (options.units) units.unit = chip_.unit_name(units);
    outcome.units = std::move(units);
  }
  check_against_reference(shape, work.op, values, computed, of_a ? &of_a->view() : nullptr);
  return outcome;
}

}  // namespace lacuna
