// The baseline: the tiles of TensorDash without TensorDash [TensorDash §3, Fig. 6; Table 2]. Every pair is
// multiplied, one step a cycle.
#include "sim/accelerator.hpp"
#include "sim/tile/column_panel.hpp"
#include "sim/tile/tile_memory.hpp"
#include "sim/work_estimate.hpp"

namespace lacuna {
namespace {

class Dense final : public Accelerator {
 public:
  explicit Dense(Params params)
      : params_(std::move(params)), tile_(tile_shape(params_)), memory_(params_, tile_) {}

  const Params& params() const override { return params_; }
  std::optional<Hardware> hardware() const override { return memory_.hardware(); }
  double work(const LayerShape& shape) const override { return tile_products(shape); }

  OpResult simulate(const Layer& layer, Operation op, const SimOptions& options) const override {
    const MacCounts macs = count_macs(layer, op);
    const std::vector<LaneProduct> products = lane_products(layer, op, tile_.lanes);
    const TensorRole row_operand = choose_scheduled(layer, op, schedule_policy(params_));
    const std::vector<PlacedProduct> placed = place_products(products, row_operand, tile_);
    const std::int64_t cycles = dense_cycles(placed);
    if (options.engine == Engine::kFunctional) check_values(layer, op, products, options);
    OpResult result{.op = op,
                    .scheduled = Scheduled::kNone,
                    .macs = macs.macs,
                    .scheduled_macs = macs.macs,
                    .effectual_macs = macs.effectual,
                    .dense_cycles = cycles,
                    .cycles = cycles,
                    .padding_free_cycles = cycles,
                    .counters = {}};
    memory_.apply(layer, op, placed, options.batch_scale, result);
    return result;
  }

 private:
  // Multiplies every pair of every step in the order the tiles would, and compares with the reference.
  void check_values(const Layer& layer, Operation op, const std::vector<LaneProduct>& products,
                    const SimOptions& options) const {
    LayerValues values = layer_values(layer, options.seed);
    if (arithmetic(params_) == DataType::kBfloat16) round_to_bfloat16(values);
    const LayerShape& s = layer.shape;
    std::vector<float> result(static_cast<std::size_t>(result_elements(s, op)), 0.0F);
    for (const LaneProduct& product : products) {
      const std::int64_t lines = product.steps() * tile_.lanes;
      std::vector<RowValue> row(static_cast<std::size_t>(lines));
      std::vector<float> lane_values(static_cast<std::size_t>(tile_.lanes));
      float sums[ColumnPanel::kColumns];
      for (std::int64_t first = 0; first < product.secondary.count(); first += ColumnPanel::kColumns) {
        const ColumnPanel panel(product.secondary, values.of(product.secondary.role), first);
        for (std::int64_t i = 0; i < product.primary.count(); ++i) {
          for (std::int64_t line = 0; line < lines; ++line) {
            const std::int64_t lane = line % tile_.lanes;
            if (lane == 0)
              product.primary.values(i, line / tile_.lanes, values.of(product.primary.role),
                                     lane_values.data());
            row[static_cast<std::size_t>(line)] = {lane_values[static_cast<std::size_t>(lane)],
                                                   static_cast<std::int32_t>(line)};
          }
          panel.multiply(row, sums);
          for (std::int64_t c = 0; c < panel.columns(); ++c) {
            result[static_cast<std::size_t>(product.output_index(s, op, i, first + c))] += sums[c];
          }
        }
      }
    }
    check_against_reference(s, op, values, result);
  }

  Params params_;
  TileShape tile_;
  TileMemory memory_;
};

const RegisterAccelerator kRegister{{
    .name = "dense",
    .summary = "TensorDash's tiles without TensorDash: every pair is multiplied",
    .paper = "Mahmoud et al., TensorDash, arXiv 2009.00748, §3 and Table 2 (the baseline)",
    .params =
        [] {
          std::vector<ParamSpec> specs = tile_params();
          for (ParamSpec& spec : memory_params()) specs.push_back(std::move(spec));
          return specs;
        }(),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      return std::make_unique<Dense>(std::move(params));
    },
}};

}  // namespace
}  // namespace lacuna
