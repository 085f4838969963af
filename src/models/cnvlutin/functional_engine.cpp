// Values through the hardware. A row's values are encoded into bricks of (value, offset); each lane takes one
// of them per cycle from its bricks, and the offset says which of the column operand's values it asks its
// slice of the column buffers for. A lane that has run out waits until the window is done [Cnvlutin].
#include <algorithm>

#include "models/cnvlutin/engine.hpp"

namespace lacuna::cnvlutin {
namespace {

struct Encoded {
  float value;
  std::int32_t offset;
};

// Its values without zeros, and the line of the column operand that offset 0 stands for.
struct Brick {
  std::vector<Encoded> values;
  std::int64_t first_line;
  std::int64_t line_pitch;  // lines from one offset to the next
};

class WindowRunner {
 public:
  WindowRunner(const Config& config, const OperandStreams& streams, const TensorValues& values)
      : config_(config),
        streams_(streams),
        values_(values),
        lanes_(streams.lanes),
        lane_values_(static_cast<std::size_t>(lanes_)) {}

  // The cycles of a window; its pairs are appended in the order in which they are multiplied.
  std::int64_t run(std::int64_t stream, std::vector<RowValue>& pairs) {
    const std::int64_t steps = streams_.steps();
    const std::int64_t slice = config_.slice_steps == 0 ? steps : config_.slice_steps;
    std::int64_t cycles = 0;
    for (std::int64_t first = 0; first < steps; first += slice) {
      cycles += drain(encode(stream, first, std::min(steps, first + slice)), pairs);
    }
    return std::max(cycles, config_.window_cycles);
  }

 private:
  using LaneBricks = std::vector<std::vector<Brick>>;

  LaneBricks encode(std::int64_t stream, std::int64_t first, std::int64_t end) {
    LaneBricks bricks(static_cast<std::size_t>(lanes_));
    const std::int64_t period = streams_.axis_steps();
    std::int64_t filled = 0;  // steps of the bricks of all lanes that are open now
    for (std::int64_t step = first; step < end; ++step, ++filled) {
      const std::uint64_t nonzero = streams_.values(stream, step, values_, lane_values_.data());
      if (config_.bricks == Bricks::kStep) {
        std::vector<Brick>& lane = bricks[static_cast<std::size_t>(step % lanes_)];
        lane.push_back({{}, step * lanes_, 1});
        for (int i = 0; i < lanes_; ++i) append(lane.back(), nonzero, i, i);
        continue;
      }
      if (step == first || step % period == 0 || filled == config_.brick_values) {
        filled = 0;
        for (int i = 0; i < lanes_; ++i) {
          bricks[static_cast<std::size_t>(i)].push_back({{}, step * lanes_ + i, lanes_});
        }
      }
      for (int i = 0; i < lanes_; ++i) append(bricks[static_cast<std::size_t>(i)].back(), nonzero, i, filled);
    }
    return bricks;
  }

  void append(Brick& brick, std::uint64_t nonzero, int at, std::int64_t offset) const {
    if ((nonzero >> at) & 1) {
      brick.values.push_back({lane_values_[static_cast<std::size_t>(at)], static_cast<std::int32_t>(offset)});
    }
  }

  // One value per lane and cycle until all bricks are done.
  std::int64_t drain(const LaneBricks& bricks, std::vector<RowValue>& pairs) const {
    struct Lane {
      std::size_t brick = 0, value = 0;
      std::int64_t stall = 0;
    };
    std::vector<Lane> lanes(bricks.size());
    for (std::int64_t cycle = 0;; ++cycle) {
      bool busy = false;
      for (std::size_t i = 0; i < bricks.size(); ++i) busy |= take(bricks[i], lanes[i], pairs);
      if (!busy) return cycle;
    }
  }

  // Runs a lane for a cycle; returns false if it waits for the others.
  template <typename Lane>
  bool take(const std::vector<Brick>& bricks, Lane& lane, std::vector<RowValue>& pairs) const {
    while (lane.brick < bricks.size()) {
      const Brick& brick = bricks[lane.brick];
      if (lane.value < brick.values.size()) {
        const Encoded& next = brick.values[lane.value++];
        pairs.push_back(
            {next.value, static_cast<std::int32_t>(brick.first_line + next.offset * brick.line_pitch)});
        return true;
      }
      // ASSUMPTION(C2): what a brick without values costs.
      if (brick.values.empty() && lane.stall < config_.empty_brick_cycles) {
        ++lane.stall;
        return true;
      }
      lane = {lane.brick + 1, 0, 0};
    }
    return false;
  }

  const Config& config_;
  const OperandStreams& streams_;
  const TensorValues& values_;
  int lanes_;
  std::vector<float> lane_values_;
};

}  // namespace

void execute_product(const Config& config, const OperationWork& work, const PlacedProduct& placed,
                     const LayerValues& values, std::vector<float>& result, TileOutcome& outcome) {
  const OperandStreams& rows = *placed.rows;
  WindowRunner runner(config, rows, values.of(rows.role));
  StreamWork streams{std::vector<std::uint32_t>(static_cast<std::size_t>(rows.count()))};
  std::vector<std::int64_t> nonzeros(streams.cycles.size());
  const auto select = [&](std::int64_t stream, std::vector<RowValue>& pairs) {
    streams.cycles[static_cast<std::size_t>(stream)] = static_cast<std::uint32_t>(runner.run(stream, pairs));
    nonzeros[static_cast<std::size_t>(stream)] = static_cast<std::int64_t>(pairs.size());
  };
  outcome += multiply_streams(*placed.product, rows, work.layer.shape, work.op, values, select, result);
  for (const std::int64_t count : nonzeros) streams.nonzeros += count;
  add_streams(config, placed, streams, outcome);
}

}  // namespace lacuna::cnvlutin
