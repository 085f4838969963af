// The baseline: the tiles of TensorDash without TensorDash [TensorDash §3, Fig. 6; Table 2]. Every pair is
// multiplied, one step a cycle.
#include "sim/accelerator.hpp"
#include "sim/tile_grid.hpp"

namespace lacuna {
namespace {

class Dense final : public Accelerator {
 public:
  explicit Dense(Params params) : params_(std::move(params)), tile_(tile_shape(params_)) {}

  const Params& params() const override { return params_; }

  OpResult simulate(const Layer& layer, Operation op, const SimOptions& options) const override {
    const MacCounts macs = count_macs(layer, op);
    const std::vector<LaneProduct> products = lane_products(layer, op, tile_.lanes);
    const TensorRole row_operand = choose_scheduled(layer, op, schedule_policy(params_));
    const std::int64_t cycles = dense_cycles(place_products(products, row_operand, tile_));
    if (options.engine == Engine::kFunctional) check_values(layer, op, products, options);
    return {.op = op,
            .scheduled = Scheduled::kNone,
            .macs = macs.macs,
            .scheduled_macs = macs.macs,
            .effectual_macs = macs.effectual,
            .dense_cycles = cycles,
            .cycles = cycles,
            .padding_free_cycles = cycles,
            .counters = {}};
  }

 private:
  // Multiplies every pair of every step in the order the tiles would, and compares with the reference.
  void check_values(const Layer& layer, Operation op, const std::vector<LaneProduct>& products,
                    const SimOptions& options) const {
    const LayerValues values = layer_values(layer, options.seed);
    const LayerShape& s = layer.shape;
    std::vector<float> result(static_cast<std::size_t>(op == Operation::kForward     ? s.g_elements()
                                                       : op == Operation::kInputGrad ? s.a_elements()
                                                                                     : s.w_elements()),
                              0.0F);
    std::vector<float> text(static_cast<std::size_t>(tile_.lanes));
    std::vector<float> other(static_cast<std::size_t>(tile_.lanes));
    for (const LaneProduct& product : products) {
      for (std::int64_t i = 0; i < product.text.count(); ++i) {
        for (std::int64_t j = 0; j < product.other.count(); ++j) {
          float sum = 0;
          for (std::int64_t step = 0; step < product.steps(); ++step) {
            product.text.values(i, step, values.of(product.text.role), text.data());
            product.other.values(j, step, values.of(product.other.role), other.data());
            for (std::size_t lane = 0; lane < text.size(); ++lane) sum += text[lane] * other[lane];
          }
          result[static_cast<std::size_t>(product.output_index(s, op, i, j))] += sum;
        }
      }
    }
    check_against_reference(s, op, values, result);
  }

  Params params_;
  TileShape tile_;
};

const RegisterAccelerator kRegister{{
    .name = "dense",
    .summary = "TensorDash's tiles without TensorDash: every pair is multiplied",
    .paper = "Mahmoud et al., TensorDash, arXiv 2009.00748, §3 and Table 2 (the baseline)",
    .params = tile_params(),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      return std::make_unique<Dense>(std::move(params));
    },
}};

}  // namespace
}  // namespace lacuna
