// TensorDash as an accelerator [TensorDash §3.1 to §3.3, §3.5].
#include <algorithm>

#include "models/tensordash/engine/engine.hpp"
#include "models/tensordash/storage/storage_traffic.hpp"
#include "sim/accelerator.hpp"
#include "sim/tile/column_panel.hpp"
#include "sim/work_estimate.hpp"

namespace lacuna::tensordash {
namespace {

// The zeros of A counted with its border, as the authors' early simulator does.
LayerTensor with_border(const Layer& layer) {
  LayerTensor padded = layer.a;
  const LayerShape& s = layer.shape;
  padded.mask.rows = s.n * (s.input.h + 2 * s.padding.h) * (s.input.w + 2 * s.padding.w);
  return padded;
}

class TensorDash final : public Accelerator {
 public:
  explicit TensorDash(Params params)
      : params_(std::move(params)), config_(Config::from(params_)), memory_(params_, config_.tile) {}

  const Params& params() const override { return params_; }

  double work(const LayerShape& shape) const override {
    // Without vectors a word takes as long as some twenty with them; a pair of words as four.
    constexpr double kPlainSteps = 20, kPairSteps = 4;
    double steps = tile_words(shape, config_.tile.lanes) * (fast_engine_supports(config_) ? 1 : kPlainSteps);
    if (config_.sides == Sides::kBoth)
      steps += 3 * kPairSteps * static_cast<double>(shape.macs()) / config_.tile.lanes;
    return steps + tile_products(shape);
  }

  std::optional<Hardware> hardware() const override {
    TileHardware hardware = memory_.hardware();
    hardware.mux_inputs = static_cast<std::int64_t>(config_.scheduler.connectivity().movements().size());
    // One a row, or one a PE [TensorDash §3.1, §3.3].
    hardware.schedulers_a_tile =
        config_.sides == Sides::kOne ? config_.tile.rows : config_.tile.rows * config_.tile.columns;
    hardware.zero_counters = config_.power_gating;
    return hardware;
  }

  OpResult simulate(const Layer& layer, Operation op, const SimOptions& options) const override {
    const TensorRole row_operand = scheduled_operand(layer, op);
    const std::vector<LaneProduct> products = lane_products(layer, op, config_.tile.lanes, config_.order);
    const std::vector<PlacedProduct> placed = place_products(products, row_operand, config_.tile);

    OpResult result;
    result.op = op;
    result.scheduled = config_.sides == Sides::kBoth ? Scheduled::kBoth : scheduled_of(row_operand);
    result.macs = layer.shape.macs();
    result.dense_cycles = dense_cycles(placed);
    if (config_.power_gating) {
      const bool gated = is_gated(layer, op, row_operand);
      result.counters.push_back({"gated", gated ? 1 : 0});
      if (gated) {
        result = run_gated(layer, op, result);
        apply_memory(layer, op, placed, options, result);
        return result;
      }
    }
    if (options.engine == Engine::kFast) {
      run_fast(layer, op, row_operand, placed, result);
    } else {
      run_values(layer, op, placed, options, result);
    }
    apply_memory(layer, op, placed, options, result);
    return result;
  }

 private:
  // With storage=scheduled the tensors lie in memory in scheduled form, in the groups of §3.4 [TensorDash
  // §3.6].
  void apply_memory(const Layer& layer, Operation op, const std::vector<PlacedProduct>& placed,
                    const SimOptions& options, OpResult& result) const {
    if (!config_.scheduled_storage) {
      memory_.apply(layer, op, placed, options.batch_scale, result);
      return;
    }
    const Connectivity& connectivity = config_.scheduler.connectivity();
    const DataType type = config_.arithmetic == DataType::kFp32 ? DataType::kFp32 : DataType::kBfloat16;
    StoredForms forms;
    for (const StoredTraffic& tensor :
         layer_traffic(layer, LaneSelector(connectivity), form_bits(connectivity), {}, type)) {
      forms[static_cast<std::size_t>(tensor.role)] = {
          static_cast<double>(tensor.on_chip_bytes) / static_cast<double>(tensor.dense_bytes),
          tensor.off_chip_bytes};
    }
    memory_.apply(layer, op, placed, options.batch_scale, result, &forms);
  }

  TensorRole scheduled_operand(const Layer& layer, Operation op) const {
    if (!config_.count_padded_zeros) return choose_scheduled(layer, op, config_.policy);
    Layer padded = layer;
    padded.a = with_border(layer);
    return choose_scheduled(padded, op, config_.policy);
  }

  // A counter a tensor measures its zeros as it is produced; without enough of them the schedulers are gated
  // and the staging buffers bypassed [TensorDash §3.5].
  bool is_gated(const Layer& layer, Operation op, TensorRole row_operand) const {
    const auto [primary, secondary] = operands(op);
    double share = layer.tensor(row_operand).zero_share();
    if (config_.sides == Sides::kBoth) {
      share = std::max(layer.tensor(primary).zero_share(), layer.tensor(secondary).zero_share());
    }
    return share < config_.gating_threshold;
  }

  static OpResult run_gated(const Layer& layer, Operation op, OpResult result) {
    result.scheduled = Scheduled::kNone;
    result.scheduled_macs = result.macs;
    result.effectual_macs = count_macs(layer, op).effectual;
    result.cycles = result.dense_cycles;
    result.padding_free_cycles = result.dense_cycles;
    return result;
  }

  void run_fast(const Layer& layer, Operation op, TensorRole row_operand,
                const std::vector<PlacedProduct>& placed, OpResult& result) const {
    const MacCounts macs = count_macs(layer, op);
    result.scheduled_macs = config_.sides == Sides::kBoth ? macs.effectual : macs.with(row_operand, op);
    result.effectual_macs = macs.effectual;
    if (!fast_engine_supports(config_)) {
      add_plain_cycles(placed, result);
      return;
    }
    for (const PlacedProduct& product : placed) {
      const ProductCycles cycles = fast_product_cycles(config_, product);
      result.cycles += cycles.cycles;
      result.padding_free_cycles += cycles.padding_free;
    }
  }

  void add_plain_cycles(const std::vector<PlacedProduct>& placed, OpResult& result) const {
    for (const PlacedProduct& product : placed) {
      const std::int64_t cycles = plain_product_cycles(config_, product, false);
      result.cycles += cycles;
      result.padding_free_cycles +=
          has_padding(product) ? plain_product_cycles(config_, product, true) : cycles;
    }
  }

  // With two-side scheduling a padded lane must be effectual on both sides to count as work.
  static bool has_padding(const PlacedProduct& product) { return product.rows->has_padding(); }

  void run_values(const Layer& layer, Operation op, const std::vector<PlacedProduct>& placed,
                  const SimOptions& options, OpResult& result) const {
    LayerValues values = layer_values(layer, options.seed);
    if (config_.arithmetic == DataType::kBfloat16) {
      round_to_bfloat16(values);
    }
    const LayerShape& s = layer.shape;
    std::vector<float> computed(static_cast<std::size_t>(result_elements(s, op)), 0.0F);
    for (const PlacedProduct& product : placed) {
      const FunctionalCounts counts = run_functional(config_, s, op, product, values, computed);
      result.cycles += counts.cycles;
      result.scheduled_macs += counts.scheduled_macs;
      result.effectual_macs += counts.effectual_macs;
      // Padding is counted on masks alone: there are no values in lanes that hold no element.
      result.padding_free_cycles +=
          has_padding(product) ? plain_product_cycles(config_, product, true) : counts.cycles;
    }
    check_against_reference(s, op, values, computed);
  }

  Params params_;
  Config config_;
  TileMemory memory_;
};

const RegisterAccelerator kRegister{{
    .name = "tensordash",
    .summary = "a scheduler a row of PEs and 8-input multiplexers move later work into the place of zeros",
    .paper = "Mahmoud et al., TensorDash, arXiv 2009.00748 (MICRO 2020)",
    .params = Config::params(),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      return std::make_unique<TensorDash>(std::move(params));
    },
}};

}  // namespace
}  // namespace lacuna::tensordash
