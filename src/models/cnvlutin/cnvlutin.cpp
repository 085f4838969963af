// Cnvlutin on the tiles of the dense machine [Cnvlutin]: lanes skip the zeros of the row operand, each on its
// own, and wait for each other at the end of a window. The paper has it for the activations of inference;
// here it runs the three operations of training: ASSUMPTION(C5).
#include "base/work_progress.hpp"
#include "models/cnvlutin/engine.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/tile/tile_chip.hpp"
#include "sim/tile/tile_machine.hpp"
#include "sim/work_estimate.hpp"

namespace lacuna::cnvlutin {
namespace {

class Cnvlutin final : public TileMachine {
 public:
  explicit Cnvlutin(Params params)
      : TileMachine(std::move(params)), config_(Config::from(this->params(), tile())) {}

  double work(const LayerShape& shape) const override {
    // Step by step a word takes as long as some ten that are counted together.
    constexpr double kSlicedSteps = 10;
    return tile_words(shape, tile().lanes) * (config_.slice_steps == 0 ? 1 : kSlicedSteps) +
           tile_products(shape);
  }
  std::string slow_engine_reason() const override {
    return config_.slice_steps == 0 ? "" : "slice_steps is counted step by step: about ten times slower";
  }

  std::optional<Hardware> hardware() const override {
    std::optional<Hardware> hardware = TileMachine::hardware();
    hardware->components.push_back(
        {"column_slices",
         "column slices",
         ComponentGroup::kSram,
         {{"lane_slice", 0, {"access", "value"}}, {"scratchpad", more_copies(), {"write"}}}});
    hardware->components.push_back(tags_component(offsets(), chip()));
    return hardware;
  }

 protected:
  std::vector<Component> added_logic() const override {
    return {{"encoders", "encoders", ComponentGroup::kCore, {{"encoder", encoders(), {"row"}}}}};
  }
  ScheduledOperands scheduled(const OperationWork&, const Placement& placement) const override {
    return placement.row_operand;
  }
  std::vector<Counter> counters(const OperationWork&) const override {
    return {{"column_reads", 0}, {"idle_lane_cycles", 0}};
  }

  void count_product(const OperationWork&, const Placement&, const PlacedProduct& product,
                     TileOutcome& outcome) const override {
    add_streams(config_, product, count_streams(config_, *product.rows), outcome);
  }
  void execute(const OperationWork& work, const Placement& placement, LayerValues& values,
               std::vector<float>& computed, TileOutcome& outcome) const override {
    for (const PlacedProduct& product : in_steps(placement.placed))
      execute_product(config_, work, product, values, computed, outcome);
  }

  // The columns' values are read lane by lane, not a row at a time.
  void finish(const OperationWork&, const Placement& placement, TileOutcome& outcome) const override {
    outcome.scratchpad_reads_elsewhere = chip().memory().scratchpads(placement).column_reads;
  }
  void count_actions(const OperationWork& work, const Placement& placement, const TileOutcome& outcome,
                     OpResult& result) const override {
    const auto scaled = [&](double count) { return count * work.batch_scale; };
    const Operand role = placement.row_operand;
    const double fills = static_cast<double>(ceil_div(work.layer.tensor(role).elements(), tile().lanes));
    const auto reads = static_cast<double>(outcome.counters.front().value);
    const auto writes = static_cast<double>(chip().memory().scratchpads(placement).column_writes);
    const double copies = static_cast<double>(tile().rows - 1);
    result.actions.insert(
        result.actions.end(),
        {{"encoders", "encoder", "row",
          (work.layer.shape.once_per_batch(role) ? fills : scaled(fills)) * chip().rows_of_16()},
         {"column_slices", "lane_slice", "access", scaled(reads)},
         {"column_slices", "lane_slice", "value", scaled(reads * static_cast<double>(tile().columns))},
         {"column_slices", "scratchpad", "write", scaled(writes * copies * chip().rows_of_16())}});
    append_tags_actions(offsets(), chip(), work, placement, role, result);
  }

 private:
  ValueTags offsets() const {
    return {"offsets", "offsets", static_cast<double>(config_.offset_bits()), true};
  }
  // ASSUMPTION(C6): one encoder per bank of BM, which holds the row operand.
  double encoders() const { return chip().memory().sram_units(); }
  // ASSUMPTION(C4): each row of PEs has its own copy of the columns' values, since it asks for others.
  double more_copies() const { return chip().memory().scratchpad_units((tile().rows - 1) * tile().columns); }

  Config config_;
};

const RegisterAccelerator kRegister{{
    .name = "cnvlutin",
    .summary = "each lane skips the zeros of one operand on its own; lanes wait at the end of a window",
    .paper = "Albericio et al., Cnvlutin: Ineffectual-Neuron-Free Deep Neural Network Computing, ISCA 2016",
    .cites = {"cnvlutin"},
    .params = TileChip::params(Config::params()),
    .make = make_accelerator<Cnvlutin>,
}};

}  // namespace
}  // namespace lacuna::cnvlutin
