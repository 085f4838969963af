#include "models/tensordash/storage/prescheduled.hpp"

#include <algorithm>

#include "base/ceil_div.hpp"
#include "models/tensordash/engine/row_group.hpp"

namespace lacuna::tensordash {
namespace {

struct Dot {
  float sum = 0;
  std::int64_t cycles = 0;
};

// One PE: one row of the stored operand per cycle; lane l takes from the other operand's staging buffer what
// the idx of slot l selects.
Dot stored_dot(const LaneSelector& selector, std::int64_t features, const ScheduledGroup& stored,
               const float* other) {
  Dot dot;
  std::int64_t position = 0;
  std::size_t slot = 0;
  for (const std::uint8_t advance : stored.advances) {
    const auto slots =
        static_cast<int>(std::min<std::int64_t>(selector.lanes(), features - position * selector.lanes()));
    for (int lane = 0; lane < slots; ++lane, ++slot) {
      if (!is_effectual(stored.values[slot])) continue;  // an idle lane
      const int move = stored.moves[slot];
      const std::int64_t feature =
          (position + selector.movement(move).step) * selector.lanes() + selector.source_lane(lane, move);
      dot.sum += stored.values[slot] * other[feature];
    }
    position += advance;
    ++dot.cycles;
  }
  return dot;
}

// One PE with its own scheduler, pairs with any zero skipped [TensorDash §3.1].
Dot dynamic_dot(const Scheduler& scheduler, std::int64_t features, const float* a, const float* b) {
  const int lanes = scheduler.connectivity().lanes();
  GroupWords words(1, ceil_div(features, lanes), scheduler.connectivity().depth());
  for (std::int64_t i = 0; i < features; ++i) {
    if (is_effectual(a[i]) && is_effectual(b[i])) words.row(0)[i / lanes] |= std::uint64_t{1} << (i % lanes);
  }
  Dot dot;
  dot.cycles =
      run_lockstep(scheduler, words, [&](std::int64_t, std::int64_t position, const Selection& selection) {
        for (int lane = 0; lane < lanes; ++lane) {
          const std::int16_t move = selection[static_cast<std::size_t>(lane)];
          if (move == kIdle) continue;
          const Movement& movement = scheduler.connectivity().movements()[static_cast<std::size_t>(move)];
          const std::int64_t feature =
              (position + movement.step) * lanes + scheduler.source_lane(lane, movement);
          dot.sum += a[feature] * b[feature];
        }
      });
  return dot;
}

}  // namespace

GroupShape vector_shape(std::int64_t features, int lanes) {
  GroupShape shape;
  for (std::int64_t at = 0; at < features; at += lanes)
    shape.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(lanes, features - at)));
  return shape;
}

ScheduledMatrix schedule_matrix(const ScheduledCodec& codec, const Matrix& matrix) {
  const GroupShape shape = vector_shape(matrix.features, codec.selector().lanes());
  ScheduledMatrix scheduled{matrix.rows, matrix.features, {}};
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    scheduled.groups.push_back(
        codec.encode(shape, {matrix.row(r), static_cast<std::size_t>(matrix.features)}));
  }
  return scheduled;
}

Matrix expand_matrix(const ScheduledCodec& codec, const ScheduledMatrix& matrix) {
  const GroupShape shape = vector_shape(matrix.features, codec.selector().lanes());
  Matrix expanded{matrix.rows, matrix.features, {}};
  for (const ScheduledGroup& group : matrix.groups) {
    const std::vector<float> values = codec.decode(shape, group, "scheduled matrix");
    expanded.data.insert(expanded.data.end(), values.begin(), values.end());
  }
  return expanded;
}

LinearResult run_stored_weights(const ScheduledCodec& codec, const ScheduledMatrix& weights,
                                const Matrix& activations) {
  LinearResult result;
  result.outputs.resize(static_cast<std::size_t>(activations.rows * weights.rows));
  for (std::int64_t k = 0; k < weights.rows; ++k) {
    Dot dot;
    for (std::int64_t n = 0; n < activations.rows; ++n) {
      dot = stored_dot(codec.selector(), weights.features, weights.groups[static_cast<std::size_t>(k)],
                       activations.row(n));
      result.outputs[static_cast<std::size_t>(n * weights.rows + k)] = dot.sum;
    }
    result.cycles.push_back(dot.cycles);
  }
  return result;
}

LinearResult run_stored_activations(const ScheduledCodec& codec, const Matrix& weights,
                                    const ScheduledMatrix& activations) {
  LinearResult result;
  for (std::int64_t n = 0; n < activations.rows; ++n) {
    Dot dot;
    for (std::int64_t k = 0; k < weights.rows; ++k) {
      dot = stored_dot(codec.selector(), weights.features, activations.groups[static_cast<std::size_t>(n)],
                       weights.row(k));
      result.outputs.push_back(dot.sum);
    }
    result.cycles.push_back(dot.cycles);
  }
  return result;
}

LinearResult run_stored_both(const ScheduledCodec& codec, const Scheduler& scheduler,
                             const ScheduledMatrix& weights, const ScheduledMatrix& activations) {
  const Matrix w = expand_matrix(codec, weights);
  const Matrix a = expand_matrix(codec, activations);
  LinearResult result;
  for (std::int64_t n = 0; n < a.rows; ++n) {
    for (std::int64_t k = 0; k < w.rows; ++k) {
      const Dot dot = dynamic_dot(scheduler, w.features, a.row(n), w.row(k));
      result.outputs.push_back(dot.sum);
      result.cycles.push_back(dot.cycles);
    }
  }
  return result;
}

}  // namespace lacuna::tensordash
