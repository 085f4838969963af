#include "sim/memory/packed_memory.hpp"

#include "sim/memory/memory_actions.hpp"

namespace lacuna {

std::int64_t PackedMemory::rows(std::int64_t values, std::int64_t place_bits) const {
  const std::int64_t value_bits = 8 * dram_.value_bytes();
  return ceil_div(values * value_bits + place_bits, kSramRowValues * value_bits);
}

void PackedMemory::finish(const OperationWork& work, Activity& activity, OpResult& result) const {
  result.cycles = activity.compute_cycles;
  for (const auto& [bound, needed] :
       {std::pair{Bound::kDram, activity.dram_cycles}, std::pair{Bound::kSram, activity.sram_cycles}}) {
    if (!dram_.modelled() || needed <= result.cycles) continue;
    result.cycles = needed;
    activity.bound = bound;
  }
  result.activity = activity;
  const double seconds =
      static_cast<double>(result.cycles) * work.batch_scale / (dram_.frequency_mhz() * 1e6);
  // Values are kept in rows of 16, as AM, BM and CM of the tiles have them.
  for (ActionCount& count : memory_actions(activity, work.batch_scale, 1, seconds * dram_.powered()))
    result.actions.push_back(std::move(count));
}

}  // namespace lacuna
