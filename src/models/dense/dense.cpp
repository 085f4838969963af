// The baseline: the tiles of TensorDash without TensorDash [TensorDash §3, Fig. 6; Table 2]. Every pair is
// multiplied, one step per cycle.
#include "sim/catalog/registry.hpp"
#include "sim/tile/tile_machine.hpp"
#include "sim/work_estimate.hpp"

namespace lacuna::dense {
namespace {

class Dense final : public TileMachine {
 public:
  using TileMachine::TileMachine;

  // Its own, unless it leaves out outputs.
  std::optional<BaselineSpec> baseline() const override {
    return needed_outputs_only(params()) ? TileMachine::baseline() : std::nullopt;
  }
  double work(const LayerShape& shape) const override {
    return needed_outputs_only(params()) ? TileMachine::work(shape) : tile_products(shape);
  }
};

const RegisterAccelerator kRegister{{
    .name = "dense",
    .summary = "TensorDash's tiles without TensorDash: every pair is multiplied",
    .paper = "Mahmoud et al., TensorDash, arXiv 2009.00748v1, §3 and Table 2 (the baseline)",
    .cites = {"tensordash"},
    .params = TileChip::params({outputs_param(
        "a group of rows and a group of columns take no time where none of their PEs has such a result")}),
    .make = make_accelerator<Dense>,
}};

}  // namespace
}  // namespace lacuna::dense
