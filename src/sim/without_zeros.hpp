// What a machine would take if no value of a layer were zero. What it is still faster than its baseline then
// comes from slots that hold no element (lanes that channels, positions or samples do not fill, the border
// of an image), not from zeros.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/accelerator.hpp"

namespace lacuna {

// An operation of a layer whose tensors have no zeros. Everything that machines decide by the share of zeros
// stays as recorded (which operand is scheduled, power gating, zero compression of traffic), so that nothing
// differs but what is skipped.
class WorkWithoutZeros {
 public:
  explicit WorkWithoutZeros(const OperationWork& recorded);
  WorkWithoutZeros(const WorkWithoutZeros&) = delete;
  WorkWithoutZeros& operator=(const WorkWithoutZeros&) = delete;

  const OperationWork& work() const { return work_; }

 private:
  std::array<std::vector<std::uint8_t>, 3> rows_;  // of A, W, G: one row of ones
  Layer layer_;
  OperationWork work_;
};

// Cycles with no zero in any operand, at most those of the baseline and at least those with the recorded
// zeros: a machine that is slower than its baseline gains nothing from slots without an element. The machine
// is run only where it is faster than its baseline.
std::int64_t cycles_without_zeros(const Accelerator& machine, const OperationWork& recorded,
                                  std::int64_t cycles, std::int64_t baseline_cycles);

}  // namespace lacuna
