// Cycles from bit masks alone, lanes over positions or images: all channels of a tap side by side, eight in
// one addition of 64 bits, one row of the mask after another.
#include <algorithm>
#include <cstring>

#include "base/parallel.hpp"
#include "models/cnvlutin/engine.hpp"

namespace lacuna::cnvlutin {
namespace {

class TransposedLanes {
 public:
  TransposedLanes(const Config& config, const OperandStreams& streams)
      : config_(config), s_(streams), lanes_(streams.lanes) {}

  StreamWork count() {
    constexpr std::int64_t kBytes = 16;  // of channels per item
    const std::int64_t first_byte = s_.channel0 / 8;
    const std::int64_t end_byte = ceil_div(s_.channel0 + s_.channels, 8);
    const std::int64_t chunks = ceil_div(end_byte - first_byte, kBytes);
    const std::int64_t runs = over_positions() ? static_cast<std::int64_t>(s_.taps.size()) : 1;
    StreamWork work;
    work.cycles.resize(static_cast<std::size_t>(s_.count()));
    std::vector<std::int64_t> nonzeros(static_cast<std::size_t>(runs * chunks), 0);
    parallel_for(nonzeros.size(), 1, [&](std::size_t item) {
      const std::int64_t run = static_cast<std::int64_t>(item) / chunks;
      const std::int64_t byte = first_byte + static_cast<std::int64_t>(item) % chunks * kBytes;
      count_channels(run, byte, std::min(kBytes, end_byte - byte), work, nonzeros[item]);
    });
    for (const std::int64_t count : nonzeros) work.nonzeros += count;
    return work;
  }

 private:
  bool over_positions() const { return s_.axis == LaneAxis::kPositions; }

  // The streams of the channels in some bytes of a mask row; over positions, those of one tap.
  void count_channels(std::int64_t run, std::int64_t byte, std::int64_t bytes, StreamWork& work,
                      std::int64_t& nonzeros) const {
    const std::int64_t width = 8 * bytes;
    const std::int64_t elements = over_positions() ? s_.grid.h * s_.grid.w : s_.images;
    const std::int64_t outer = over_positions() ? s_.images : static_cast<std::int64_t>(s_.taps.size());
    const std::int64_t period = s_.axis_steps();
    const auto empty = static_cast<std::uint32_t>(config_.empty_brick_cycles);
    std::vector<std::uint32_t> costs(static_cast<std::size_t>(lanes_ * width), 0);
    std::vector<std::uint32_t> found(static_cast<std::size_t>(width), 0);
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(bytes), 0);
    const auto add = [&](std::int64_t at, std::int64_t element) {
      if (element >= elements) return;
      const std::int64_t row = over_positions()
                                   ? s_.source_row(at, element, s_.taps[static_cast<std::size_t>(run)])
                                   : s_.source_row(element, 0, s_.taps[static_cast<std::size_t>(at)]);
      if (row < 0) return;
      const std::uint8_t* source = s_.mask.row(row) + byte;
      for (std::int64_t i = 0; i < bytes; ++i) counts[static_cast<std::size_t>(i)] += kSpread[source[i]];
    };
    std::vector<std::uint8_t> of_brick(static_cast<std::size_t>(width));
    const auto close_brick = [&](std::int64_t lane) {
      std::memcpy(of_brick.data(), counts.data(), static_cast<std::size_t>(width));
      std::uint32_t* to = costs.data() + lane * width;
      for (std::int64_t c = 0; c < width; ++c) {
        const std::uint32_t count = of_brick[static_cast<std::size_t>(c)];
        found[static_cast<std::size_t>(c)] += count;
        to[c] += std::max(count, empty);
      }
      std::ranges::fill(counts, 0);
    };
    for (std::int64_t at = 0; at < outer; ++at) {
      if (config_.bricks == Bricks::kStep) {
        for (std::int64_t step = 0; step < period; ++step) {
          for (int i = 0; i < lanes_; ++i) add(at, step * lanes_ + i);
          close_brick((at * period + step) % lanes_);
        }
        continue;
      }
      for (std::int64_t first = 0; first < period; first += config_.brick_values) {
        const std::int64_t end = std::min(period, first + config_.brick_values);
        for (int lane = 0; lane < lanes_; ++lane) {
          for (std::int64_t step = first; step < end; ++step) add(at, step * lanes_ + lane);
          close_brick(lane);
        }
      }
    }
    // Bytes may hold channels of neighbouring groups too.
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t channel = 8 * byte + c - s_.channel0;
      if (channel < 0 || channel >= s_.channels) continue;
      auto slowest = static_cast<std::uint32_t>(config_.window_cycles);
      for (int lane = 0; lane < lanes_; ++lane) {
        slowest = std::max(slowest, costs[static_cast<std::size_t>(lane * width + c)]);
      }
      work.cycles[static_cast<std::size_t>(run * s_.channels + channel)] = slowest;
      nonzeros += found[static_cast<std::size_t>(c)];
    }
  }

  const Config& config_;
  const OperandStreams& s_;
  int lanes_;
};

}  // namespace

StreamWork count_transposed_lanes(const Config& config, const OperandStreams& streams) {
  return TransposedLanes(config, streams).count();
}

}  // namespace lacuna::cnvlutin
