// A chip of outer-product PEs: what SCNN-like and ANT machines have in common.
#pragma once

#include <memory>

#include "sim/accelerator.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "sim/outer_product/memory.hpp"
#include "sim/outer_product/processing_element.hpp"

namespace lacuna::outer {

// OpResult as every model's; `dense_cycles` is a dense inner-product machine (TensorDash's tiles) of as many
// multipliers, so that all machines' speedups share one baseline. The counters and their laws are listed in
// docs/models/scnn.md.
class OuterProductMachine : public Accelerator {
 public:
  OuterProductMachine(Params params, std::unique_ptr<ProcessingElement> pe);

  const Params& params() const override { return params_; }
  std::optional<Hardware> hardware() const override;
  double work(const LayerShape& shape) const override;
  OpResult simulate(const Layer& layer, Operation op, const SimOptions& options) const override;

 private:
  Params params_;
  MachineConfig config_;
  OuterMemory memory_;
  std::unique_ptr<ProcessingElement> pe_;
};

}  // namespace lacuna::outer
