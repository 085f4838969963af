#include "models/sparten/memory.hpp"

#include <algorithm>
#include <cmath>

#include "sim/memory/memory_actions.hpp"
#include "sim/memory/tensor_traffic.hpp"

namespace lacuna::sparten {

std::int64_t Memory::rows(std::int64_t values, std::int64_t mask_bits) const {
  const std::int64_t value_bits = 8 * dram_.value_bytes();
  return ceil_div(values * value_bits + mask_bits, kSramRowValues * value_bits);
}

// One row per bank and cycle: the busiest of AM (broadcast operand), BM (held operand) and CM.
std::int64_t Memory::sram_cycles(const OperationWork& work, const Activity& activity) const {
  const auto share = [&](bool weights, std::int64_t count) {
    return weights ? static_cast<double>(count) / work.batch_scale : static_cast<double>(count);
  };
  const auto fill = [&](Operand role) {
    const LayerTensor& tensor = work.layer.tensor(role);
    return share(work.layer.shape.once_per_batch(role), rows(tensor.nonzeros, tensor.elements()));
  };
  const auto [primary, secondary] = operands(work.op);
  const Operand held = config_.held(work.op);
  const Operand broadcast = held == primary ? secondary : primary;
  const bool once = work.layer.shape.once_per_batch(work.op);
  const TensorTraffic& results = once ? activity.weights : activity.samples;
  const double busiest =
      std::max({static_cast<double>(activity.am_reads) + fill(broadcast),
                static_cast<double>(activity.bm_reads) + fill(held), 2 * share(once, results.output_rows)});
  return static_cast<std::int64_t>(std::ceil(busiest / static_cast<double>(config_.sram_banks) - 1e-9));
}

Timing Memory::time(const OperationWork& work, const UnitTraffic& traffic,
                    std::int64_t compute_cycles) const {
  Timing timing;
  Activity& activity = timing.activity;
  activity.compute_cycles = compute_cycles;
  activity.am_reads = rows(traffic.broadcast_values_read, traffic.broadcast_mask_bits_read);
  activity.bm_reads = rows(traffic.held_values_read, traffic.held_mask_bits_read);
  count_tensor_traffic(
      work, dram_, [this](std::int64_t elements, std::int64_t nonzeros) { return rows(nonzeros, elements); },
      activity);
  activity.sram_cycles = sram_cycles(work, activity);
  timing.cycles = compute_cycles;
  if (!dram_.modelled()) return timing;
  for (const auto& [bound, needed] :
       {std::pair{Bound::kDram, activity.dram_cycles}, std::pair{Bound::kSram, activity.sram_cycles}}) {
    if (needed <= timing.cycles) continue;
    timing.cycles = needed;
    activity.bound = bound;
  }
  return timing;
}

}  // namespace lacuna::sparten
