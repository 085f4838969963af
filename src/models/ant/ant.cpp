// ANT: an SCNN-like machine that anticipates redundant Cartesian products and leaves them out [Lew et al.,
// ISCA 2022]. docs/models/ant.md says what is documented and what is derived.
#include "ant_pe.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/outer_product/machine.hpp"

namespace lacuna::ant {
namespace {

constexpr std::int64_t kFill = 5;  // six stages [ANT talk, FastPath 2022]

std::vector<ParamSpec> ant_params() {
  std::vector<ParamSpec> specs = outer_product::machine_params(kFill);
  specs.push_back(ParamSpec::integer("k", 16, 1, 1 << 20, "indices",
                                     "kernel indices that the first-n-in-range search sees in a cycle",
                                     "ANT talk (FastPath 2022) names k; the value: docs/assumptions.md N2"));
  specs.push_back(ParamSpec::integer("empty_cost", 1, 0, 1000, "cycles",
                                     "cycles of an image vector that has no kernel index in its rows",
                                     "docs/assumptions.md N1"));
  return specs;
}

const RegisterAccelerator kRegister{{
    .name = "ant",
    .summary = "ANT: an SCNN-like machine that leaves out redundant Cartesian products before they happen",
    .paper =
        "Lew et al., Anticipating and eliminating redundant computations in accelerated sparse training, "
        "ISCA 2022, doi 10.1145/3470496.3527404",
    .cites = {"ant"},
    .params = ant_params(),
    .make = [](Params params) -> std::unique_ptr<Accelerator> {
      const AntPeConfig config{outer_product::machine_config(params).pe(), params.integer("k"),
                               params.integer("empty_cost")};
      return std::make_unique<outer_product::OuterProductMachine>(std::move(params),
                                                                  std::make_unique<AntPe>(config));
    },
}};

}  // namespace
}  // namespace lacuna::ant
