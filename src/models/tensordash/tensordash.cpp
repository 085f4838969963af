// TensorDash as an accelerator [TensorDash §3.1 to §3.3, §3.5].
#include <algorithm>
#include <fmt/format.h>

#include "base/work_progress.hpp"
#include "models/tensordash/engine/engine.hpp"
#include "models/tensordash/engine/stored_schedule.hpp"
#include "models/tensordash/storage/stored_memory.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/tile/tile_machine.hpp"
#include "sim/work_estimate.hpp"

namespace lacuna::tensordash {
namespace {

class TensorDash final : public TileMachine {
 public:
  explicit TensorDash(Params params)
      : TileMachine(std::move(params), LeftOutOutputs::kColumns),
        config_(Config::from(this->params())),
        stored_(config_, chip()),
        row_groups_key_(memo_key(this->params(), memory_params(), kNotOfRowGroups)) {}

  double work(const LayerShape& shape) const override {
    // Without vectors a word takes as long as some twenty with them; a pair of words 2 to 4 ns.
    constexpr double kPlainSteps = 20, kPairSteps = 1;
    double steps = tile_words(shape, config_.tile.lanes) * (fast_engine_supports(config_) ? 1 : kPlainSteps);
    if (config_.sides == Sides::kBoth)
      steps += 3 * kPairSteps * static_cast<double>(shape.macs()) / config_.tile.lanes;
    return steps + tile_products(shape);
  }
  // One group of streams, or pair of groups, of each kind is scheduled; the clock adds up all of them.
  double work_without_zeros(const LayerShape& shape) const override {
    if (config_.sides == Sides::kBoth && !fast_engine_supports(config_)) return work(shape);
    const auto real = [](std::int64_t count) { return static_cast<double>(count); };
    const double inputs = real(shape.n) * real(shape.input_positions());
    const double outputs = real(shape.n) * real(shape.output_positions());
    const double pairs = outputs * real(shape.k) + inputs * real(shape.c) +
                         real(shape.k) * real(shape.taps()) * real(shape.c_per_group());
    return tile_words(shape, config_.tile.lanes) + pairs / real(config_.tile.rows * config_.tile.columns) +
           tile_products(shape);
  }

  std::string remark(const RunResult&) const override {
    if (chip().data_type() != DataType::kMixed) return {};
    return "mixed precision as the abstract of the MICRO 2020 version describes it; everything else is "
           "arXiv 2009.00748v1's";
  }

  std::string sharing_key() const override {
    return config_.sides == Sides::kOne ? row_groups_key_ : TileMachine::sharing_key();
  }
  std::string slow_engine_reason() const override { return lacuna::tensordash::slow_engine_reason(config_); }

  std::optional<Hardware> hardware() const override {
    std::optional<Hardware> hardware = TileMachine::hardware();
    hardware->totals.push_back({"staging_values", "", staging_values()});
    return hardware;
  }

 protected:
  std::vector<Component> added_logic() const override {
    std::vector<Component> added{
        {"schedulers_and_b_muxes",
         "schedulers and B muxes",
         ComponentGroup::kCore,
         {{"scheduler_input", scheduler_inputs(), {"cycle"}}, {"mux_input", scheduler_inputs(), {"cycle"}}}},
        {"a_muxes", "A muxes", ComponentGroup::kCore, {{"mux_input", a_mux_inputs(), {"cycle"}}}}};
    if (config_.power_gating) {
      added.push_back(
          {"zero_counters", "zero counters", ComponentGroup::kCore, {{"zero_counter", 0, {"row"}}}});
    }
    if (added_staging_values() > 0) {
      added.push_back({"staging_buffers",
                       "added staging buffers",
                       ComponentGroup::kCore,
                       {{"staging_value", added_staging_values(), {"cycle"}}}});
    }
    for (Component& component : stored_.components()) added.push_back(std::move(component));
    return added;
  }

  // A gated operation runs as on the dense machine.
  ScheduledOperands scheduled(const OperationWork& work, const Placement& placement) const override {
    if (config_.power_gating && is_gated(work, placement.row_operand)) return {};
    return config_.sides == Sides::kBoth ? ScheduledOperands::both() : placement.row_operand;
  }

  void count_product(const OperationWork& work, const Placement& placement, const PlacedProduct& product,
                     TileOutcome& outcome) const override {
    outcome.compute_cycles += product_cycles_of(work, placement, product);
  }

  void execute(const OperationWork& work, const Placement& placement, LayerValues& values,
               std::vector<float>& computed, TileOutcome& outcome) const override {
    const LayerShape& shape = work.layer.shape;
    const LayerValues in_memory = stored_.used() ? stored_.through_memory(shape, values) : values;
    const FunctionalOperands operands(work.layer, work.op, in_memory, tile().lanes);
    for (const PlacedProduct& product : in_steps(placement.placed))
      run_functional(config_, shape, work.op, product, operands, computed, outcome);
    computed = stored_.stored_outputs(shape, work.op, computed);
  }

  void finish(const OperationWork& work, const Placement& placement, TileOutcome& outcome) const override {
    const bool gated = outcome.scheduled == ScheduledOperands();
    if (config_.power_gating) outcome.counters.push_back({"gated", gated ? 1 : 0, true});
    stored_.schedule_outputs(work, outcome);
    if (stored_.used())
      outcome.stored = stored_.forms(work, placement.row_operand, runs_from_stored(work, placement, outcome));
  }

  // A gated operation pays nothing for schedulers and multiplexers [TensorDash §3.5]; one that runs from a
  // stored schedule nothing for schedulers and the multiplexers on its side [TensorDash §3.6.1].
  void count_actions(const OperationWork& work, const Placement& placement, const TileOutcome& outcome,
                     OpResult& result) const override {
    const bool gated = outcome.scheduled == ScheduledOperands();
    const double clocked =
        gated ? 0 : static_cast<double>(result.activity->compute_cycles) * work.batch_scale;
    const double scheduling = runs_from_stored(work, placement, outcome) ? 0 : clocked;
    result.actions.push_back(
        {"schedulers_and_b_muxes", "scheduler_input", "cycle", scheduler_inputs() * scheduling});
    result.actions.push_back(
        {"schedulers_and_b_muxes", "mux_input", "cycle", scheduler_inputs() * scheduling});
    result.actions.push_back({"a_muxes", "mux_input", "cycle", a_mux_inputs() * clocked});
    if (added_staging_values() > 0) {
      result.actions.push_back(
          {"staging_buffers", "staging_value", "cycle", added_staging_values() * clocked});
    }
    if (config_.power_gating) {
      result.actions.push_back(
          {"zero_counters", "zero_counter", "row", chip().output_rows(result, work.batch_scale)});
    }
    if (outcome.stored) stored_.count_actions(work, placement.row_operand, *outcome.stored, result);
  }

 private:
  // Parameters that do not change the cycles of a group of rows: its streams are those of the row operand.
  inline static const std::vector<std::string> kNotOfRowGroups = {
      "tiles", "columns",      "tile_grid",        "tile_dealing",  "pin",    "schedule",
      "zeros", "power_gating", "gating_threshold", "zero_operands", "outputs"};

  double mux_inputs() const {
    return static_cast<double>(config_.scheduler.connectivity().movements().size());
  }
  // The dense side has one multiplexer block per PE [TensorDash §3.3, Fig. 11].
  double a_mux_inputs() const { return chip().multipliers() * mux_inputs(); }
  // One scheduler per row, or one per PE; each has the multiplexers on its side [TensorDash §3.1, §3.3].
  double scheduler_inputs() const {
    const TileShape& tile = config_.tile;
    const std::int64_t per_tile = config_.sides == Sides::kOne ? tile.rows : tile.rows * tile.columns;
    return static_cast<double>(tile.tiles * per_tile * tile.lanes) * mux_inputs();
  }

  // A staging buffer holds `depth` steps of `lanes` values: one per row and one per column of PEs, or two per
  // PE [TensorDash §3.1, §3.3, Fig. 11]. Rows that run from stored activations slide by themselves, so each
  // has its own buffers on the other side (A26).
  double staging_values() const {
    const TileShape& tile = config_.tile;
    const bool own_pace = config_.storage == Storage::kScheduled && config_.has_backside();
    return staged(config_.sides == Sides::kBoth ? 2 * tile.rows * tile.columns
                  : own_pace                    ? tile.rows + tile.rows * tile.columns
                                                : tile.rows + tile.columns);
  }
  // Beyond those of Fig. 11's tile, which Table 3's lines include (A18).
  double added_staging_values() const {
    return std::max(0.0, staging_values() - staged(config_.tile.rows + config_.tile.columns));
  }
  double staged(std::int64_t buffers_per_tile) const {
    const TileShape& tile = config_.tile;
    return static_cast<double>(tile.tiles * buffers_per_tile * config_.scheduler.connectivity().depth() *
                               tile.lanes);
  }

  // One counter per tensor measures its zeros as it is produced; without enough of them the schedulers are
  // gated and the staging buffers bypassed [TensorDash §3.5].
  bool is_gated(const OperationWork& work, Operand row_operand) const {
    const auto [primary, secondary] = operands(work.op);
    double share = work.layer.tensor(row_operand).zero_share();
    if (config_.sides == Sides::kBoth) {
      share = std::max(work.layer.tensor(primary).zero_share(), work.layer.tensor(secondary).zero_share());
    }
    return share < config_.gating_threshold;
  }

  bool runs_from_stored(const OperationWork& work, const Placement& placement,
                        const TileOutcome& outcome) const {
    return outcome.scheduled != ScheduledOperands() &&
           config_.runs_from_stored(work.layer.shape, work.op, placement.row_operand);
  }

  // Columns and tiles only decide how often the cycles of a group of rows are spent, and where.
  std::int64_t product_cycles_of(const OperationWork& work, const Placement& placement,
                                 const PlacedProduct& product) const {
    if (config_.runs_from_stored(work.layer.shape, work.op, product.rows->role))
      return stored_product_cycles(config_, product);
    if (config_.sides == Sides::kBoth || config_.sync == RowSync::kLines) {
      return product_cycles(config_, product);
    }
    const std::string key =
        fmt::format("{} rows:{} product:{}", row_groups_key_, static_cast<int>(placement.row_operand),
                    product.product - placement.products.data());
    const auto groups = work.remember<std::vector<std::uint32_t>>(
        key, [&] { return row_group_cycles(config_, *product.rows); });
    return clock_row_groups(product, *groups);
  }

  Config config_;
  StoredMemory stored_;
  std::string row_groups_key_;  // for OperationWork::remember()
};

const RegisterAccelerator kRegister{{
    .name = "tensordash",
    .summary = "one scheduler per row of PEs and 8-input multiplexers move later work into idle lanes",
    .paper =
        "Mahmoud et al., TensorDash, arXiv 2009.00748v1 (the arXiv text; the MICRO 2020 version differs)",
    .cites = {"tensordash", "tensordash-micro"},
    .params = Config::params(),
    .make = make_accelerator<TensorDash>,
    .is_default = true,
}};

}  // namespace
}  // namespace lacuna::tensordash
