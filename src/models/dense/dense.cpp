// The baseline: the tiles of TensorDash without TensorDash [TensorDash §3, Fig. 6; Table 2]. Every pair is
// multiplied, one step per cycle.
#include "sim/catalog/registry.hpp"
#include "sim/tile/stream_products.hpp"
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
  std::vector<LayerPasses> plan(const Trace& trace, const SimOptions& options) const override {
    return chip_.plan(trace, options);
  }
  std::optional<Hardware> hardware() const override { return chip_.hardware(); }
  double work(const LayerShape& shape) const override { return tile_products(shape); }

  using Accelerator::simulate;
  OpResult simulate(const OperationWork& work, const SimOptions& options) const override {
    const Placement placement = chip_.place(work.layer, work.op);
    std::int64_t effectual = work.macs.effectual;
    if (options.engine == Engine::kFunctional) effectual = multiply(work, placement, options.seed);
    // Zeros change nothing here, so both engines take the cycles of the placement;
    // tests/conformance/tile_brute counts them a second time.
    const std::int64_t cycles = placement.dense_cycles();
    return chip_.result(
        work, placement,
        {.scheduled_macs = work.macs.macs, .effectual_macs = effectual, .compute_cycles = cycles});
  }

 private:
  // Multiplies every pair and compares with the reference; returns how many are effectual.
  std::int64_t multiply(const OperationWork& work, const Placement& placement, std::uint64_t seed) const {
    const LayerValues values = layer_values(work.layer, seed, chip_.data_type());
    const LayerShape& shape = work.layer.shape;
    std::vector<float> result(static_cast<std::size_t>(result_elements(shape, work.op)), 0.0F);
    const std::int64_t effectual = multiply_all(placement.products, shape, work.op, values, result);
    check_against_reference(shape, work.op, values, result);
    return effectual;
  }

  Params params_;
  TileChip chip_;
};

const RegisterAccelerator kRegister{{
    .name = "dense",
    .summary = "TensorDash's tiles without TensorDash: every pair is multiplied",
    .paper = "Mahmoud et al., TensorDash, arXiv 2009.00748v1, §3 and Table 2 (the baseline)",
    .params = TileChip::params(),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      return std::make_unique<Dense>(std::move(params));
    },
}};

}  // namespace
}  // namespace lacuna
