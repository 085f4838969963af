#include "sim/without_zeros.hpp"

#include <algorithm>

namespace lacuna {
namespace {

Layer without_zeros(const Layer& recorded, std::array<std::vector<std::uint8_t>, 3>& rows) {
  Layer layer = recorded;
  LayerTensor* const tensors[] = {&layer.a, &layer.w, &layer.g};
  for (std::size_t i = 0; i < 3; ++i) {
    MaskView& mask = tensors[i]->mask;
    rows[i].assign(static_cast<std::size_t>(mask.readable_bytes()), 0xff);
    if (mask.channels % 8 != 0) rows[i].back() = static_cast<std::uint8_t>((1U << (mask.channels % 8)) - 1);
    mask.data = rows[i].data();
    mask.row_bytes = 0;
    tensors[i]->values = {};
  }
  return layer;
}

}  // namespace

WorkWithoutZeros::WorkWithoutZeros(const OperationWork& recorded)
    : layer_(without_zeros(recorded.layer, rows_)), work_(layer_, recorded) {}

std::int64_t cycles_without_zeros(const Accelerator& machine, const OperationWork& recorded,
                                  std::int64_t cycles, std::int64_t baseline_cycles) {
  if (cycles >= baseline_cycles) return baseline_cycles;
  const WorkWithoutZeros full(recorded);
  return std::clamp(machine.simulate(full.work(), SimOptions{}).cycles, cycles, baseline_cycles);
}

}  // namespace lacuna
