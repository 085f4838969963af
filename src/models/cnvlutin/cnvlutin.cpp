// Cnvlutin on the tiles of the dense machine [Cnvlutin]: lanes skip the zeros of the row operand, each on its
// own, and wait for each other at the end of a window. The paper has it for the activations of inference;
// here it runs the three operations of training: ASSUMPTION(C5).
#include "base/work_progress.hpp"
#include "models/cnvlutin/engine.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/tile/tile_pins.hpp"
#include "sim/tile/value_tags.hpp"
#include "sim/work_estimate.hpp"
#include "sim/workload/reference.hpp"
#include "sim/workload/stream_classes.hpp"

namespace lacuna::cnvlutin {
namespace {

class Cnvlutin final : public Accelerator {
 public:
  explicit Cnvlutin(Params params)
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
    // Step by step a word takes as long as some ten that are counted together.
    constexpr double kSlicedSteps = 10;
    return tile_words(shape, config_.tile.lanes) * (config_.slice_steps == 0 ? 1 : kSlicedSteps) +
           tile_products(shape);
  }
  std::string sharing_key() const override { return compute_key_; }
  std::string slow_engine_reason() const override {
    return config_.slice_steps == 0 ? "" : "slice_steps is counted step by step: about ten times slower";
  }

  std::optional<Hardware> hardware() const override {
    Hardware hardware =
        chip_.hardware({{"encoders", "encoders", ComponentGroup::kCore, {{"encoder", encoders(), {"row"}}}}});
    hardware.components.push_back(
        {"column_slices",
         "column slices",
         ComponentGroup::kSram,
         {{"lane_slice", 0, {"access", "value"}}, {"scratchpad", more_copies(), {"write"}}}});
    hardware.components.push_back(tags_component(offsets(), chip_));
    return hardware;
  }

  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override {
    const Placement placement = chip_.place(work.layer, work.op);
    TileOutcome outcome =
        options.engine == Engine::kFast
            ? *work.remember<TileOutcome>(compute_key_, [&] { return run_fast(work, placement); })
            : run_values(work, placement, options.seed);
    const std::int64_t column_reads = outcome.counters.front().value;
    const ScratchpadTraffic scratchpads = chip_.memory().scratchpads(placement);
    // The columns' values are read lane by lane, not a row at a time.
    outcome.scratchpad_reads_elsewhere = scratchpads.column_reads;
    OpResult result = chip_.result(work, placement, std::move(outcome));
    count_actions(work, placement, column_reads, scratchpads, result);
    return result;
  }

 private:
  ValueTags offsets() const {
    return {"offsets", "offsets", static_cast<double>(config_.offset_bits()), true};
  }
  // ASSUMPTION(C6): one encoder per bank of BM, which holds the row operand.
  double encoders() const { return chip_.memory().sram_units(); }
  // ASSUMPTION(C4): each row of PEs has its own copy of the columns' values, since it asks for others.
  double more_copies() const {
    return chip_.memory().scratchpad_units((config_.tile.rows - 1) * config_.tile.columns);
  }

  void count_actions(const OperationWork& work, const Placement& placement, std::int64_t column_reads,
                     const ScratchpadTraffic& scratchpads, OpResult& result) const {
    const auto scaled = [&](double count) { return count * work.batch_scale; };
    const Operand role = placement.row_operand;
    const double fills =
        static_cast<double>(ceil_div(work.layer.tensor(role).elements(), chip_.tile().lanes));
    const auto reads = static_cast<double>(column_reads);
    const double copies = static_cast<double>(config_.tile.rows - 1);
    result.actions.insert(
        result.actions.end(),
        {{"encoders", "encoder", "row",
          (work.layer.shape.once_per_batch(role) ? fills : scaled(fills)) * chip_.rows_of_16()},
         {"column_slices", "lane_slice", "access", scaled(reads)},
         {"column_slices", "lane_slice", "value", scaled(reads * static_cast<double>(config_.tile.columns))},
         {"column_slices", "scratchpad", "write",
          scaled(static_cast<double>(scratchpads.column_writes) * copies * chip_.rows_of_16())}});
    for (ActionCount& count : tags_actions(offsets(), chip_, work, placement, *result.activity, role)) {
      result.actions.push_back(std::move(count));
    }
  }

  void add(const PlacedProduct& product, const StreamWork& streams, TileOutcome& outcome) const {
    const ProductWork work = product_work(config_, product, streams);
    outcome.compute_cycles += work.cycles;
    outcome.counters[0].value += work.column_reads;
    outcome.counters[1].value += work.idle_lane_cycles;
  }

  static TileOutcome empty_outcome(const Placement& placement) {
    return {.scheduled = placement.row_operand, .counters = {{"column_reads", 0}, {"idle_lane_cycles", 0}}};
  }

  TileOutcome run_fast(const OperationWork& work, const Placement& placement) const {
    TileOutcome outcome = empty_outcome(placement);
    outcome.scheduled_macs = work.macs.with(placement.row_operand, work.op);
    outcome.effectual_macs = work.macs.effectual;
    std::vector<TileOutcome> parts;
    for (const PlacedProduct& product : in_steps(placement.placed)) {
      const std::size_t alike = alike_product(parts.size(), placement.placed.size(), work.layer.shape.groups);
      if (alike < parts.size() && has_no_zeros(*product.rows)) {
        parts.push_back(parts[alike]);
      } else {
        parts.push_back(empty_outcome(placement));
        add(product, count_streams(config_, *product.rows), parts.back());
      }
      outcome.compute_cycles += parts.back().compute_cycles;
      for (std::size_t i = 0; i < outcome.counters.size(); ++i)
        outcome.counters[i].value += parts.back().counters[i].value;
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
      add(product, done.streams, outcome);
    }
    check_against_reference(shape, work.op, values, computed);
    return outcome;
  }

  Params params_;
  TileChip chip_;
  Config config_;
  std::string compute_key_ = memo_key(params_, memory_params());
};

const RegisterAccelerator kRegister{{
    .name = "cnvlutin",
    .summary = "each lane skips the zeros of one operand on its own; lanes wait at the end of a window",
    .paper = "Albericio et al., Cnvlutin: Ineffectual-Neuron-Free Deep Neural Network Computing, ISCA 2016",
    .params = TileChip::params(Config::params()),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      return std::make_unique<Cnvlutin>(std::move(params));
    },
}};

}  // namespace
}  // namespace lacuna::cnvlutin
