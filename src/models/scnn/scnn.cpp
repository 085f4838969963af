// The SCNN-like machine: 64 PEs of 4 x 4 multipliers that form all products of compressed planes
// [Parashar et al., SCNN, ISCA 2017; the baseline of ANT]. docs/models/scnn.md.
#include "scnn_pe.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/outer_product/machine.hpp"

namespace lacuna::scnn {
namespace {

// Three stages: buffers, multipliers and output indices, accumulators [ANT talk, FastPath 2022].
constexpr std::int64_t kFill = 2;

std::vector<ParamSpec> scnn_params() {
  std::vector<ParamSpec> specs = outer_product::machine_params(kFill);
  specs.push_back(outer_product::kernel_vectors_param());
  return specs;
}

const RegisterAccelerator kRegister{{
    .name = "scnn",
    .summary = "SCNN-like: Cartesian products of compressed planes; skips the zeros of both operands",
    .paper = "Parashar et al., SCNN, ISCA 2017, doi 10.1145/3079856.3080254; as ANT's baseline",
    .cites = {"scnn", "ant"},
    .params = scnn_params(),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      auto pe = std::make_unique<ScnnPe>(outer_product::machine_config(params).pe());
      return std::make_unique<outer_product::OuterProductMachine>(std::move(params), std::move(pe));
    },
}};

}  // namespace
}  // namespace lacuna::scnn
