#include "sim/outer_product/memory.hpp"

#include <cmath>

#include "base/ceil_div.hpp"
#include "sim/outer_product/work.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna::outer {
namespace {

constexpr std::int64_t kIndexBytes = 2;  // ASSUMPTION(O11): of a value that is kept compressed
constexpr std::int64_t kRowValues = 16;  // of a row of SRAM [TensorDash Table 2]

}  // namespace

PeTraffic pe_traffic(const Layer& layer, Operation op, const MachineConfig& config, std::int64_t pairs) {
  PeTraffic traffic;
  const std::int64_t elements = result_elements(layer.shape, op);
  if (layer.shape.kind == LayerKind::kLinear) {
    // The image is broadcast; a kernel element belongs to one block of columns.
    const LinearWork work = LinearWork::of(layer, op, config);
    traffic.image_values_sent = layer.tensor(work.image.role).nonzeros;
    traffic.kernel_values_sent = layer.tensor(work.kernel.role).nonzeros;
    traffic.loaded = traffic.image_values_sent * work.blocks + traffic.kernel_values_sent;
    traffic.drained = elements;
    return traffic;
  }
  const ConvolutionWork work = ConvolutionWork::of(layer.shape, op, config);
  // ASSUMPTION(O9): an operand leaves SRAM once per sample and stays in the PEs that use it.
  const std::int64_t times = work.kernel_role == TensorRole::kW ? work.samples : 1;
  traffic.image_values_sent = layer.tensor(work.image_role).nonzeros;
  traffic.kernel_values_sent = layer.tensor(work.kernel_role).nonzeros * times;
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
  return ceil_div(values * (dram_.value_bytes() + kIndexBytes), kRowValues * dram_.value_bytes());
}

Activity OuterMemory::count(const OperationWork& work, const PeTraffic& traffic,
                            std::int64_t compute_cycles) const {
  const Layer& layer = work.layer;
  Activity activity;
  activity.compute_cycles = compute_cycles;
  activity.am_reads = rows(traffic.image_values_sent);
  activity.bm_reads = rows(traffic.kernel_values_sent);
  const auto add = [&](const TensorTraffic& part, bool weights) {
    TensorTraffic& sum = weights ? activity.weights : activity.samples;
    for (const auto& [name, count] : kTrafficCounts) sum.*count += part.*count;
  };
  const auto [primary, secondary] = operands(work.op);
  // As A14 has it for the tiles: each tensor crosses the DRAM bus once per operation, weights once per batch.
  for (const TensorRole role : {primary, secondary}) {
    TensorTraffic part = dram_.read(layer.tensor(role).elements(), layer.tensor(role).nonzeros);
    part.fill_rows = rows(layer.tensor(role).nonzeros);
    add(part, role == TensorRole::kW);
  }
  const std::int64_t nonzeros = result_nonzeros(layer, work.op);
  TensorTraffic result = dram_.write(result_elements(layer.shape, work.op), nonzeros);
  result.output_rows = rows(nonzeros);
  add(result, work.op == Operation::kWeightGrad);
  const auto sum = [&](std::int64_t TensorTraffic::*count) {
    return static_cast<double>(activity.samples.*count) +
           static_cast<double>(activity.weights.*count) / work.batch_scale;
  };
  activity.dram_cycles = static_cast<std::int64_t>(
      std::ceil(dram_.cycles(sum(&TensorTraffic::dram_read_bytes) + sum(&TensorTraffic::dram_write_bytes),
                             sum(&TensorTraffic::dram_activations)) -
                1e-9));
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

}  // namespace lacuna::outer
