#include "models/template/template_machine.hpp"

#include <algorithm>

#include "sim/catalog/registry.hpp"
#include "sim/tile/tile_clock.hpp"

namespace lacuna::template_machine {

std::vector<ParamSpec> TemplateMachine::own_params() {
  return {
      ParamSpec::integer("window_cycles", 1, 0, 16, "cycles",
                         "the least that the streams on a tile's rows take, zeros or not",
                         "where the default comes from: a paper's section, or docs/assumptions.md X1"),
  };
}

// Throw InputError here for values that do not go together.
TemplateMachine::TemplateMachine(Params params)
    : TileMachine(std::move(params)), window_cycles_(this->params().integer("window_cycles")) {}

std::vector<Component> TemplateMachine::added_logic() const {
  return {{"zero_detectors",
           "zero detectors",
           ComponentGroup::kCore,
           {{"scheduler_input", detector_inputs(), {"cycle"}}}}};
}

// One detector per row of PEs, with an input per lane.
double TemplateMachine::detector_inputs() const {
  return static_cast<double>(tile().tiles * tile().rows * tile().lanes);
}

void TemplateMachine::add_groups(const PlacedProduct& product, const std::vector<std::int64_t>& steps,
                                 TileOutcome& outcome) const {
  TileClock clock(product.grid);
  for (std::size_t group = 0; group < steps.size(); ++group) {
    clock.add_row_group(static_cast<std::int64_t>(group), std::max(steps[group], window_cycles_));
    outcome.counters[0].value += (product.rows->steps() - steps[group]) * product.grid.column_groups;
  }
  outcome.compute_cycles += clock.cycles();
}

void TemplateMachine::count_actions(const OperationWork& work, const Placement&, const TileOutcome& outcome,
                                    OpResult& result) const {
  const double clocked = static_cast<double>(outcome.compute_cycles) * work.batch_scale;
  result.actions.push_back({"zero_detectors", "scheduler_input", "cycle", detector_inputs() * clocked});
}

namespace {

const RegisterAccelerator kRegister{{
    .name = "template",
    .summary = "one line for 'lacuna arch list': what the machine does about zeros",
    .paper = "authors, title, venue and year, and a DOI or an arXiv number",
    .cites = {},
    .params = TileChip::params(TemplateMachine::own_params()),
    .make = make_accelerator<TemplateMachine>,
}};

}  // namespace
}  // namespace lacuna::template_machine
