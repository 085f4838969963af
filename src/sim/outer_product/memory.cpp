#include "sim/outer_product/memory.hpp"

#include "base/ceil_div.hpp"
#include "sim/memory/memory_actions.hpp"
#include "sim/memory/tensor_traffic.hpp"
#include "sim/outer_product/work.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna::outer_product {
namespace {

constexpr std::int64_t kIndexBytes = 2;  // ASSUMPTION(O11): of a value that is kept compressed

}  // namespace

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

std::int64_t OuterMemory::rows(std::int64_t values) const {
  return ceil_div(values * (dram_.value_bytes() + kIndexBytes), kSramRowValues * dram_.value_bytes());
}

Activity OuterMemory::count(const OperationWork& work, const PeTraffic& traffic,
                            std::int64_t compute_cycles) const {
  Activity activity;
  activity.compute_cycles = compute_cycles;
  activity.am_reads = rows(traffic.image_values_sent);
  activity.bm_reads = rows(traffic.kernel_values_sent);
  count_tensor_traffic(
      work, dram_, [this](std::int64_t, std::int64_t nonzeros) { return rows(nonzeros); }, activity);
  return activity;
}

OuterTiming OuterMemory::time(const OperationWork& work, const PeTraffic& traffic,
                              std::int64_t compute_cycles) const {
  OuterTiming timing{.activity = count(work, traffic, compute_cycles), .cycles = compute_cycles};
  if (dram_.modelled() && timing.activity.dram_cycles > compute_cycles) {
    timing.activity.bound = Bound::kDram;
    timing.cycles = timing.activity.dram_cycles;
  }
  return timing;
}

}  // namespace lacuna::outer_product
