#include "sim/outer_product/pe_traffic.hpp"

#include "sim/outer_product/work.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna::outer_product {

PeTraffic pe_traffic(const OperationWork& operation, const MachineConfig& config, std::int64_t pairs,
                     std::int64_t sent_again) {
  const Layer& layer = operation.layer;
  const Operation op = operation.op;
  PeTraffic traffic;
  const std::int64_t elements = result_elements(layer.shape, op);
  if (layer.shape.is_matrix()) {
    // The image is broadcast; a kernel element belongs to one block of columns.
    // Blocks are alike in all products. The weights of a recurrent layer stay in their PEs from step to step.
    const LinearWork work = LinearWork::of(layer, op, config).front();
    traffic.image_values_sent = layer.tensor(work.image.role).nonzeros;
    traffic.kernel_values_sent = layer.tensor(work.kernel.role).nonzeros;
    traffic.loaded = traffic.image_values_sent * work.blocks + traffic.kernel_values_sent;
    traffic.drained = elements;
    return traffic;
  }
  const ConvolutionWork work = ConvolutionWork::of(layer.shape, op, config);
  // ASSUMPTION(O9): an operand leaves SRAM once per sample and stays in the PEs that use it.
  const std::int64_t times = work.kernel_role == Operand::kW ? work.samples : 1;
  traffic.image_values_sent = layer.tensor(work.image_role).nonzeros;
  traffic.kernel_values_sent = layer.tensor(work.kernel_role).nonzeros * times;
  // ASSUMPTION(O13): the image may be in the PEs since the layer before; kernels may come again.
  if (operation.passes && operation.passes->primary == 0) traffic.image_values_sent = 0;
  traffic.kernel_values_sent += sent_again * config.n;
  traffic.loaded =
      traffic.image_values_sent * work.image_copies() + traffic.kernel_values_sent * work.kernel_copies();
  traffic.halo = work.halo_values();
  // ASSUMPTION(O10): sums stay in the accumulators while they grow: over the channels of the image; those of
  // a weight gradient have one pair of planes only.
  traffic.drained = op == Operation::kWeightGrad ? pairs * work.map.outputs().h * work.map.outputs().w
                                                 : elements + traffic.halo;
  return traffic;
}

}  // namespace lacuna::outer_product
