#include "sim/without_zeros.hpp"

#include <algorithm>

namespace lacuna {
namespace {

// All rows of the mask are this one of ones.
void share_row_of_ones(MaskView& mask, std::vector<std::uint8_t>& row) {
  row.assign(static_cast<std::size_t>(mask.readable_bytes()), 0xff);
  if (mask.channels % 8 != 0) row.back() = static_cast<std::uint8_t>((1U << (mask.channels % 8)) - 1);
  mask.data = row.data();
  mask.row_bytes = 0;
}

Layer without_zeros(const Layer& recorded, std::array<std::vector<std::uint8_t>, 3>& rows) {
  Layer layer = recorded;
  LayerTensor* const tensors[] = {&layer.a, &layer.w, &layer.g};
  for (std::size_t i = 0; i < 3; ++i) {
    share_row_of_ones(tensors[i]->mask, rows[i]);
    tensors[i]->values = {};
  }
  return layer;
}

bool has_no_zeros(const LayerTensor& tensor) { return tensor.nonzeros == tensor.elements(); }

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
  return has_no_zeros(layer.a) && has_no_zeros(layer.w) && has_no_zeros(layer.g);
}

KnownLayers::KnownLayers(const Trace& trace) : layers_(trace.layers()) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].a_forward) {
      for (const Operation op : {Operation::kForward, Operation::kInputGrad})
        know_ones(differing_.emplace(std::pair(i, op), layers_[i].as_multiplied(op)).first->second);
    }
    know_ones(layers_[i]);
  }
}

void KnownLayers::know_ones(Layer& layer) {
  for (LayerTensor* tensor : {&layer.a, &layer.w, &layer.g}) {
    if (!tensor->mask.no_zeros() && has_no_zeros(*tensor))
      share_row_of_ones(tensor->mask, rows_.emplace_back());
  }
}

}  // namespace lacuna
