// Windows that do not fit the slices of the column buffers, step by step: lanes meet inside a window, so
// costs of positions do not simply add up.
#include <algorithm>
#include <bit>

#include "base/parallel.hpp"
#include "models/cnvlutin/engine.hpp"

namespace lacuna::cnvlutin {
namespace {

struct StreamCount {
  std::int64_t cycles = 0;
  std::int64_t nonzeros = 0;
};

StreamCount count_stream(const Config& config, const OperandStreams& streams, std::int64_t stream) {
  const std::int64_t period = streams.axis_steps();
  const std::int64_t steps = streams.steps();
  std::int64_t costs[64] = {};     // of the lanes in this slice
  std::int64_t in_brick[64] = {};  // non-zeros of the lanes' open bricks
  std::int64_t open = 0;           // steps of the open bricks
  StreamCount count;
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::uint64_t word = streams.word(stream, step);
    count.nonzeros += std::popcount(word);
    const bool slice_ends = (step + 1) % config.slice_steps == 0 || step + 1 == steps;
    if (config.bricks == Bricks::kStep) {
      costs[step % streams.lanes] += std::max<std::int64_t>(std::popcount(word), config.empty_brick_cycles);
    } else {
      for (int lane = 0; lane < streams.lanes; ++lane) in_brick[lane] += (word >> lane) & 1;
      if (++open == config.brick_values || (step + 1) % period == 0 || slice_ends) {
        open = 0;
        for (int lane = 0; lane < streams.lanes; ++lane) {
          costs[lane] += std::max(in_brick[lane], config.empty_brick_cycles);
          in_brick[lane] = 0;
        }
      }
    }
    if (!slice_ends) continue;
    count.cycles += *std::max_element(costs, costs + streams.lanes);
    std::fill_n(costs, streams.lanes, 0);
  }
  count.cycles = std::max(count.cycles, config.window_cycles);
  return count;
}

}  // namespace

StreamWork count_sliced_streams(const Config& config, const OperandStreams& streams) {
  std::vector<StreamCount> counts(static_cast<std::size_t>(streams.count()));
  parallel_for(counts.size(), 64, [&](std::size_t i) {
    counts[i] = count_stream(config, streams, static_cast<std::int64_t>(i));
  });
  StreamWork work;
  for (const StreamCount& count : counts) {
    work.cycles.push_back(static_cast<std::uint32_t>(count.cycles));
    work.nonzeros += count.nonzeros;
  }
  return work;
}

}  // namespace lacuna::cnvlutin
