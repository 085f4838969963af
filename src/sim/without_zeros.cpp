#include "sim/without_zeros.hpp"

#include <algorithm>

namespace lacuna {
namespace {

Layer without_zeros(const Layer& recorded, std::array<std::vector<std::uint8_t>, 3>& rows) {
  Layer layer = recorded;
  LayerTensor* const tensors[] = {&layer.a, &layer.w, &layer.g};
  for (std::size_t i = 0; i < 3; ++i) {
    // All rows of the mask are this one of ones.
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

WorkWithoutZeros::WorkWithoutZeros(const OperationWork& recorded, WorkMemo* memo)
    : layer_(without_zeros(recorded.layer, rows_)), work_(layer_, recorded) {
  work_.memo = memo;
}

void MachinesWithoutZeros::add(const Accelerator& machine, const std::optional<TensorPasses>& passes,
                               const OpResult& baseline, bool actions, OpResult& result) {
  const bool faster = result.cycles < baseline.cycles;
  result.cycles_without_zeros = baseline.cycles;
  if (!faster && !actions) return;
  if (!full_) full_.emplace(recorded_, &memo_);
  OperationWork work = full_->work();
  work.passes = passes;
  OpResult without = machine.simulate(work, SimOptions{});
  if (faster) result.cycles_without_zeros = std::clamp(without.cycles, result.cycles, baseline.cycles);
  if (actions) result.actions_without_zeros = std::move(without.actions);
}

bool has_no_zeros(const Layer& layer) {
  return layer.a.zeros() == 0 && layer.w.zeros() == 0 && layer.g.zeros() == 0;
}

}  // namespace lacuna
