// Values through the hardware. Where the pattern holds, a group of four is two slots of a value and its place
// in the group; the place drives a multiplexer of four inputs that picks the other operand's value [Mishra et
// al. 2021]. Two steps fill the multipliers of one cycle that way. Elsewhere steps pass as they are.
#include <algorithm>
#include <cmath>

#include "base/work_progress.hpp"
#include "models/structured-2of4/engine.hpp"

namespace lacuna::structured_2of4 {
namespace {

struct Slot {
  float value;
  std::int32_t place;  // in its group
};

// A group of four: what has a slot, and what has none.
struct Compressed {
  std::vector<Slot> kept, surplus;
};

class StreamCompressor {
 public:
  StreamCompressor(const OperandStreams& streams, const TensorValues& values)
      : streams_(streams), values_(values), lanes_(static_cast<std::size_t>(streams.lanes)) {}

  // The two largest values of each group of a step are kept, the first ones of equals.
  std::vector<Compressed> step(std::int64_t stream, std::int64_t step) {
    const std::uint64_t nonzero = streams_.values(stream, step, values_, lanes_.data());
    std::vector<Compressed> groups;
    for (int first = 0; first < streams_.lanes; first += kGroup) {
      std::vector<Slot> all;
      for (int i = 0; i < kGroup; ++i) {
        if ((nonzero >> (first + i)) & 1) all.push_back({lanes_[static_cast<std::size_t>(first + i)], i});
      }
      std::ranges::stable_sort(
          all, [](const Slot& a, const Slot& b) { return std::fabs(a.value) > std::fabs(b.value); });
      const auto kept = std::min<std::ptrdiff_t>(kKept, std::ssize(all));
      groups.push_back({{all.begin(), all.begin() + kept}, {all.begin() + kept, all.end()}});
    }
    return groups;
  }

 private:
  const OperandStreams& streams_;
  const TensorValues& values_;
  std::vector<float> lanes_;
};

// Checks stretch by stretch if the streams that work together fit the pattern.
PrunedWork check_pattern(const PrunedSide& side, StreamCompressor& compressor) {
  const OperandStreams& streams = *side.streams;
  const std::int64_t steps = streams.steps();
  PrunedWork work;
  work.pattern.groups = count_groups(streams);
  for (std::int64_t stream = 0; stream < streams.count(); stream += side.together) {
    TogetherWork& together = work.together.emplace_back();
    for (std::int64_t first = 0; first < steps; first += kStretchSteps) {
      const std::int64_t end = std::min(steps, first + kStretchSteps);
      std::int64_t violating = 0;
      for (std::int64_t i = stream; i < std::min(streams.count(), stream + side.together); ++i) {
        for (std::int64_t step = first; step < end; ++step) {
          for (const Compressed& group : compressor.step(i, step)) {
            violating += group.surplus.empty() ? 0 : 1;
            work.pattern.surplus += std::ssize(group.surplus);
          }
        }
      }
      work.pattern.violating += violating;
      together.fits &= violating == 0;
      if (violating != 0 && end - first == kStretchSteps) ++together.dense_stretches;
    }
  }
  return work;
}

}  // namespace

PrunedWork execute_product(const Config& config, const OperationWork& work, const LaneProduct& product,
                           const PrunedSide& side, const LayerValues& values, std::vector<float>& result,
                           TileOutcome& outcome) {
  const OperandStreams& streams = *side.streams;
  StreamCompressor compressor(streams, values.of(streams.role));
  PrunedWork pruned = check_pattern(side, compressor);
  // Values without a slot are multiplied where steps pass as they are, and nowhere if they are dropped.
  std::vector<float> dropped(config.drop ? result.size() : 0, 0.0F);
  WorkSteps steps(2);
  for (const auto slots : {&Compressed::kept, &Compressed::surplus}) {
    // The place in a group selects the other operand's value.
    const auto select = [&](std::int64_t stream, std::vector<RowValue>& pairs) {
      for (std::int64_t step = 0; step < streams.steps(); ++step) {
        std::int64_t line = step * streams.lanes;
        for (const Compressed& group : compressor.step(stream, step)) {
          for (const Slot& slot : group.*slots)
            pairs.push_back({slot.value, static_cast<std::int32_t>(line + slot.place)});
          line += kGroup;
        }
      }
    };
    const bool lost = config.drop && slots == &Compressed::surplus;
    outcome += multiply_streams(product, streams, work.layer.shape, work.op, values, select,
                                lost ? dropped : result);
    steps.next();
  }
  return pruned;
}

}  // namespace lacuna::structured_2of4
