// Cycles from bit masks alone, lanes over channels. What a window costs a lane is a sum over its taps, so the
// costs of a position are counted once, eight lanes in one addition of 64 bits, and added up for each window.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/parallel.hpp"
#include "models/cnvlutin/engine.hpp"
#include "sim/workload/stream_classes.hpp"

namespace lacuna::cnvlutin {
namespace {

constexpr std::int64_t kMaxLanes = 64;

// Windows that one thread counts: lines of the grid, of one image or (all lines) of several.
struct Band {
  std::int64_t image, images;
  std::int64_t first_line, lines;
};

// About as many positions per band as have their costs in the second-level cache.
std::vector<Band> bands_of(const OperandStreams& streams) {
  constexpr std::int64_t kPositions = 4096;
  std::vector<Band> bands;
  const std::int64_t images = std::max<std::int64_t>(1, kPositions / (streams.plane.h * streams.plane.w));
  const std::int64_t lines =
      images > 1
          ? streams.grid.h
          : std::clamp<std::int64_t>(kPositions / (streams.plane.w * streams.stride.h), 1, streams.grid.h);
  for (std::int64_t image = 0; image < streams.images; image += images) {
    for (std::int64_t line = 0; line < streams.grid.h; line += lines) {
      bands.push_back(
          {image, std::min(images, streams.images - image), line, std::min(lines, streams.grid.h - line)});
    }
  }
  return bands;
}

// Lanes over channels: a window is a sum over its taps of what the channels of a position cost each lane.
class ChannelBand {
 public:
  ChannelBand(const Config& config, const OperandStreams& streams, const Band& band)
      : config_(config), s_(streams), lanes_(streams.lanes), band_(band) {
    count_positions();
  }

  // Writes the cycles of the band's streams; returns its non-zeros, each as often as it is in a window.
  std::int64_t count(StreamWork& work) const {
    const std::int64_t positions = s_.grid.h * s_.grid.w;
    std::int64_t nonzeros = 0;
    for (std::int64_t image = 0; image < band_.images; ++image) {
      for (std::int64_t gy = band_.first_line; gy < band_.first_line + band_.lines; ++gy) {
        for (std::int64_t gx = 0; gx < s_.grid.w; ++gx) {
          const std::int64_t position = s_.column_major ? gx * s_.grid.h + gy : gy * s_.grid.w + gx;
          work.cycles[static_cast<std::size_t>((band_.image + image) * positions + position)] =
              window(image, gy, gx, nonzeros);
        }
      }
    }
    return nonzeros;
  }

 private:
  // Bits of the source lines that the band's windows reach.
  void count_positions() {
    const auto [low, high] = std::ranges::minmax(s_.taps, {}, &Tap::dy);
    const std::int64_t last_line = (band_.first_line + band_.lines - 1) * s_.stride.h + high.dy;
    first_y_ = std::clamp<std::int64_t>(band_.first_line * s_.stride.h + low.dy, 0, s_.plane.h);
    lines_ = std::clamp<std::int64_t>(last_line + 1, first_y_, s_.plane.h) - first_y_;
    border_ = band_.images * lines_ * s_.plane.w;
    costs_.assign(static_cast<std::size_t>((border_ + 1) * lanes_), 0);
    nonzeros_.assign(static_cast<std::size_t>(border_ + 1), 0);
    for (std::int64_t image = 0; image < band_.images; ++image) {
      const std::int64_t first_row = ((s_.image0 + band_.image + image) * s_.plane.h + first_y_) * s_.plane.w;
      const std::int64_t at = image * lines_ * s_.plane.w;
      for (std::int64_t r = 0; r < lines_ * s_.plane.w; ++r) count_position(at + r, first_row + r);
    }
    count_position(border_, 0);
  }

  // The channels of one row of the mask, or of the border.
  void count_position(std::int64_t at, std::int64_t row) {
    std::uint32_t* costs = costs_.data() + at * lanes_;
    const std::int64_t period = s_.axis_steps();
    const auto empty = static_cast<std::uint32_t>(config_.empty_brick_cycles);
    std::uint64_t counts[kMaxLanes / 8] = {};
    const auto close_brick = [&] {
      std::uint8_t bytes[kMaxLanes];
      std::memcpy(bytes, counts, sizeof(counts));
      for (int lane = 0; lane < lanes_; ++lane) costs[lane] += std::max<std::uint32_t>(bytes[lane], empty);
      std::memset(counts, 0, sizeof(counts));
    };
    std::uint32_t nonzeros = 0;
    for (std::int64_t step = 0; step < period; ++step) {
      const std::int64_t channel = step * lanes_;
      const std::int64_t real = std::min<std::int64_t>(lanes_, s_.channels - channel);
      const std::uint64_t word = at == border_ ? 0 : s_.mask.bits(row, s_.channel0 + channel, real);
      nonzeros += static_cast<std::uint32_t>(std::popcount(word));
      if (config_.bricks == Bricks::kStep) {
        costs[step % lanes_] += std::max(static_cast<std::uint32_t>(std::popcount(word)), empty);
        continue;
      }
      for (int i = 0; 8 * i < lanes_; ++i) counts[i] += kSpread[(word >> (8 * i)) & 0xff];
      if ((step + 1) % config_.brick_values == 0) close_brick();
    }
    if (config_.bricks == Bricks::kLane && period % config_.brick_values != 0) close_brick();
    nonzeros_[static_cast<std::size_t>(at)] = nonzeros;
  }

  std::uint32_t window(std::int64_t image, std::int64_t gy, std::int64_t gx, std::int64_t& nonzeros) const {
    std::uint32_t sums[kMaxLanes] = {};
    std::int64_t turn = 0;  // bricks=step: the lane that takes the first brick of a tap
    const std::int64_t turn_by = config_.bricks == Bricks::kStep ? s_.axis_steps() % lanes_ : 0;
    for (const Tap& tap : s_.taps) {
      const std::int64_t y = gy * s_.stride.h + tap.dy;
      const std::int64_t x = gx * s_.stride.w + tap.dx;
      const bool inside = y >= 0 && y < s_.plane.h && x >= 0 && x < s_.plane.w;
      const std::int64_t at = inside ? (image * lines_ + y - first_y_) * s_.plane.w + x : border_;
      const std::uint32_t* costs = costs_.data() + at * lanes_;
      nonzeros += nonzeros_[static_cast<std::size_t>(at)];
      for (std::int64_t lane = 0; lane < lanes_ - turn; ++lane) sums[lane + turn] += costs[lane];
      for (std::int64_t lane = lanes_ - turn; lane < lanes_; ++lane)
        sums[lane + turn - lanes_] += costs[lane];
      turn = (turn + turn_by) % lanes_;
    }
    return std::max(*std::max_element(sums, sums + lanes_),
                    static_cast<std::uint32_t>(config_.window_cycles));
  }

  const Config& config_;
  const OperandStreams& s_;
  int lanes_;
  Band band_;
  std::int64_t first_y_ = 0, lines_ = 0;  // source lines of each image
  std::int64_t border_ = 0;               // where the costs of positions outside the plane are
  std::vector<std::uint32_t> costs_;      // [positions and the border, lanes]
  std::vector<std::uint32_t> nonzeros_;
};

StreamWork count_channel_lanes(const Config& config, const OperandStreams& streams) {
  const std::vector<Band> bands = bands_of(streams);
  StreamWork work;
  work.cycles.resize(static_cast<std::size_t>(streams.count()));
  std::vector<std::int64_t> nonzeros(bands.size());
  parallel_for(bands.size(), 1,
               [&](std::size_t i) { nonzeros[i] = ChannelBand(config, streams, bands[i]).count(work); });
  for (const std::int64_t count : nonzeros) work.nonzeros += count;
  return work;
}

StreamWork count_any(const Config& config, const OperandStreams& streams) {
  if (config.slice_steps != 0) return count_sliced_streams(config, streams);
  if (streams.axis == LaneAxis::kChannels) return count_channel_lanes(config, streams);
  return count_transposed_lanes(config, streams);
}

// Without zeros all images, or all channels of a tap, have the same streams: those of one are counted.
StreamWork count_without_zeros(const Config& config, const OperandStreams& streams) {
  const bool over_channels = streams.axis == LaneAxis::kChannels;
  const std::int64_t times = over_channels ? streams.images : streams.channels;
  OperandStreams one = streams;
  (over_channels ? one.images : one.channels) = 1;
  const StreamWork counted = count_any(config, one);
  StreamWork work;
  work.nonzeros = counted.nonzeros * times;
  work.cycles.reserve(static_cast<std::size_t>(streams.count()));
  if (over_channels) {
    for (std::int64_t i = 0; i < times; ++i)
      work.cycles.insert(work.cycles.end(), counted.cycles.begin(), counted.cycles.end());
  } else {
    for (const std::uint32_t cycles : counted.cycles)
      work.cycles.insert(work.cycles.end(), static_cast<std::size_t>(times), cycles);
  }
  return work;
}

}  // namespace

StreamWork count_streams(const Config& config, const OperandStreams& streams) {
  return has_no_zeros(streams) ? count_without_zeros(config, streams) : count_any(config, streams);
}

}  // namespace lacuna::cnvlutin
