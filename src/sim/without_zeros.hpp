// Cycles and actions of a machine if no value of a layer were zero. The speedup that is left then comes from
// empty slots (lanes that channels, positions or samples do not fill, the border of an image), not from
// zeros.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/accelerator.hpp"

namespace lacuna {

// An operation of a layer whose tensors have no zeros. Everything that machines decide by the share of zeros
// stays as recorded (which operand is scheduled, power gating, zero compression of traffic), so that nothing
// differs but what is skipped.
class WorkWithoutZeros {
 public:
  explicit WorkWithoutZeros(const OperationWork& recorded, WorkMemo* memo = nullptr);
  WorkWithoutZeros(const WorkWithoutZeros&) = delete;
  WorkWithoutZeros& operator=(const WorkWithoutZeros&) = delete;

  const OperationWork& work() const { return work_; }

 private:
  std::array<std::vector<std::uint8_t>, 3> rows_;  // of A, W, G: one row of ones
  Layer layer_;
  OperationWork work_;
};

// Fills in the fields of results without zeros, for one machine after another on one operation: they share
// what they have in common.
class MachinesWithoutZeros {
 public:
  // `recorded` must outlive it.
  explicit MachinesWithoutZeros(const OperationWork& recorded) : recorded_(recorded) {}
  // - cycles_without_zeros: with no zero in any operand, at most those of the baseline and at least those
  //   with the recorded zeros: a machine that is slower than its baseline gains nothing from slots without an
  //   element. For them alone the machine is run only where it is faster than its baseline.
  // - with `actions`, actions_without_zeros.
  // `passes`: the machine's plan of the operation.
  void add(const Accelerator& machine, const std::optional<TensorPasses>& passes, const OpResult& baseline,
           bool actions, OpResult& result);

 private:
  const OperationWork& recorded_;
  WorkMemo memo_;
  std::optional<WorkWithoutZeros> full_;
};

// Returns whether none of the layer's tensors has a zero.
bool has_no_zeros(const Layer& layer);

}  // namespace lacuna
