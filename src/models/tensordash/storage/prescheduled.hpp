// Linear layers for inference from tensors kept in scheduled form [TensorDash §3.6.1].
#pragma once

#include <cstdint>
#include <vector>

#include "models/tensordash/scheduler.hpp"
#include "models/tensordash/storage/scheduled_form.hpp"

namespace lacuna::tensordash {

// Rows of vectors of `features` values: weights (one row per filter) or activations (one row per sample).
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t features = 0;
  std::vector<float> data;

  const float* row(std::int64_t r) const { return data.data() + r * features; }
};

// The same in scheduled form, one group per row of the matrix.
struct ScheduledMatrix {
  std::int64_t rows = 0;
  std::int64_t features = 0;
  std::vector<ScheduledGroup> groups;
};
GroupShape vector_shape(std::int64_t features, int lanes);
ScheduledMatrix schedule_matrix(const ScheduledCodec& codec, const Matrix& matrix);
Matrix expand_matrix(const ScheduledCodec& codec, const ScheduledMatrix& matrix);

struct LinearResult {
  std::vector<float> outputs;  // [samples, filters]
  // Cycles of one PE for each pair of a stored row and a row of the other operand: the same for all of the
  // latter. ASSUMPTION(A26): a PE row by itself; rows that share the staging buffers of the columns would
  // need a schedule made for all of them together.
  std::vector<std::int64_t> cycles;
};

// The stored operand's idx fields drive the multiplexers of the other side, and its AS fields move the
// window; no scheduler runs. Weights stored [§3.6.1 "Pre-Scheduling Weights"] or, as the backside scheduler
// leaves them, activations ["Pre-Scheduling Activations"]: cycles has one entry per filter or per sample.
LinearResult run_stored_weights(const ScheduledCodec& codec, const ScheduledMatrix& weights,
                                const Matrix& activations);
LinearResult run_stored_activations(const ScheduledCodec& codec, const Matrix& weights,
                                    const ScheduledMatrix& activations);

// Both stored: expanded on the way to the scratchpads and scheduled again, from both sides, by the PE's own
// scheduler. cycles has one entry per output.
LinearResult run_stored_both(const ScheduledCodec& codec, const Scheduler& scheduler,
                             const ScheduledMatrix& weights, const ScheduledMatrix& activations);

}  // namespace lacuna::tensordash
