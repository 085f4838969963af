// The baseline: the tiles of TensorDash without TensorDash [TensorDash §3, Fig. 6; Table 2]. Every pair is
// multiplied, one step per cycle.
#include "sim/registry.hpp"
#include "sim/tile/column_panel.hpp"
#include "sim/tile/tile_chip.hpp"
#include "sim/tile/tile_pins.hpp"
#include "sim/work_estimate.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna {
namespace {

class Dense final : public Accelerator {
 public:
  explicit Dense(Params params) : params_(resolve_tiles(std::move(params))), chip_(params_) {}

  const Params& params() const override { return params_; }
  std::optional<Hardware> hardware() const override { return chip_.hardware(); }
  double work(const LayerShape& shape) const override { return tile_products(shape); }

  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override {
    const Placement placement = chip_.place(work.layer, work.op);
    if (options.engine == Engine::kFunctional) check_values(work, placement.products, options.seed);
    const std::int64_t cycles = placement.dense_cycles();
    return chip_.result(work, placement,
                        {.scheduled = Scheduled::kNone,
                         .scheduled_macs = work.macs.macs,
                         .effectual_macs = work.macs.effectual,
                         .compute_cycles = cycles});
  }

 private:
  // Multiplies every pair of every step in the order the tiles would, and compares with the reference.
  void check_values(const OperationWork& work, const std::vector<LaneProduct>& products,
                    std::uint64_t seed) const {
    const LayerValues values = layer_values(work.layer, seed, chip_.data_type());
    const LayerShape& shape = work.layer.shape;
    const int lanes = chip_.tile().lanes;
    std::vector<float> result(static_cast<std::size_t>(result_elements(shape, work.op)), 0.0F);
    std::vector<float> lane_values(static_cast<std::size_t>(lanes));
    float sums[ColumnPanel::kColumns];
    for (const LaneProduct& product : products) {
      const std::int64_t lines = product.steps() * lanes;
      std::vector<RowValue> row(static_cast<std::size_t>(lines));
      for (std::int64_t first = 0; first < product.secondary.count(); first += ColumnPanel::kColumns) {
        const ColumnPanel panel(product.secondary, values.of(product.secondary.role), first);
        for (std::int64_t i = 0; i < product.primary.count(); ++i) {
          for (std::int64_t line = 0; line < lines; ++line) {
            const std::int64_t lane = line % lanes;
            if (lane == 0)
              product.primary.values(i, line / lanes, values.of(product.primary.role), lane_values.data());
            row[static_cast<std::size_t>(line)] = {lane_values[static_cast<std::size_t>(lane)],
                                                   static_cast<std::int32_t>(line)};
          }
          panel.multiply(row, sums);
          for (std::int64_t c = 0; c < panel.columns(); ++c) {
            result[static_cast<std::size_t>(product.output_index(shape, work.op, i, first + c))] += sums[c];
          }
        }
      }
    }
    check_against_reference(shape, work.op, values, result);
  }

  Params params_;
  TileChip chip_;
};

const RegisterAccelerator kRegister{{
    .name = "dense",
    .summary = "TensorDash's tiles without TensorDash: every pair is multiplied",
    .paper = "Mahmoud et al., TensorDash, arXiv 2009.00748, §3 and Table 2 (the baseline)",
    .params = TileChip::params(),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      return std::make_unique<Dense>(std::move(params));
    },
}};

}  // namespace
}  // namespace lacuna
