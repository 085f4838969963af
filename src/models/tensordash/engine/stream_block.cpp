#include "models/tensordash/engine/stream_block.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/ceil_div.hpp"
#include "models/tensordash/engine/fast_kernels.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lacuna::tensordash {
namespace {

std::uint16_t read16(const std::uint8_t* bytes) {
  std::uint16_t word;
  std::memcpy(&word, bytes, 2);
  return word;
}

// out[4w + r] = word w of row r: four rows of 16-bit words side by side.
void interleave4(const std::uint8_t* const* rows, std::int64_t words, std::uint16_t* out) {
  std::int64_t w = 0;
#ifdef __SSE2__
  for (; w + 4 <= words; w += 4) {
    const auto load = [&](int r) {
      return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[r] + 2 * w));
    };
    const __m128i r01 = _mm_unpacklo_epi16(load(0), load(1));
    const __m128i r23 = _mm_unpacklo_epi16(load(2), load(3));
    auto* to = reinterpret_cast<__m128i*>(out + 4 * w);
    _mm_storeu_si128(to, _mm_unpacklo_epi32(r01, r23));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi32(r01, r23));
  }
#endif
  for (; w < words; ++w) {
    for (int r = 0; r < 4; ++r) out[4 * w + r] = read16(rows[r] + 2 * w);
  }
}

// Addresses of a stream's windows in the source: a base row that every tap moves by a fixed offset, except
// near the border, where a tap may fall outside.
class WindowRows {
 public:
  WindowRows(const OperandStreams& streams, const std::uint8_t* zeros) : streams_(&streams), zeros_(zeros) {
    for (const Tap& tap : streams_->taps) {
      min_dy_ = std::min(min_dy_, tap.dy);
      max_dy_ = std::max(max_dy_, tap.dy);
      min_dx_ = std::min(min_dx_, tap.dx);
      max_dx_ = std::max(max_dx_, tap.dx);
    }
  }
  void seek(std::int64_t stream) {
    const std::int64_t positions = streams_->grid.h * streams_->grid.w;
    image_ = stream / positions;
    const auto [y, x] = streams_->grid_place(stream % positions);
    gy_ = y;
    gx_ = x;
    locate();
  }
  void step() {  // to the next stream
    if (streams_->column_major) {
      if (++gy_ == streams_->grid.h) {
        gy_ = 0;
        if (++gx_ == streams_->grid.w) {
          gx_ = 0;
          ++image_;
        }
      }
    } else if (++gx_ == streams_->grid.w) {
      gx_ = 0;
      if (++gy_ == streams_->grid.h) {
        gy_ = 0;
        ++image_;
      }
    }
    locate();
  }
  const std::uint8_t* row(const Tap& tap) const {
    if (!interior_) {
      const std::int64_t y = y_ + tap.dy;
      const std::int64_t x = x_ + tap.dx;
      if (y < 0 || y >= streams_->plane.h || x < 0 || x >= streams_->plane.w) return zeros_;
    }
    return streams_->mask.row(base_ + tap.dy * streams_->plane.w + tap.dx) + streams_->channel0 / 8;
  }

 private:
  void locate() {
    y_ = gy_ * streams_->stride.h;
    x_ = gx_ * streams_->stride.w;
    base_ = ((streams_->image0 + image_) * streams_->plane.h + y_) * streams_->plane.w + x_;
    interior_ = y_ + min_dy_ >= 0 && y_ + max_dy_ < streams_->plane.h && x_ + min_dx_ >= 0 &&
                x_ + max_dx_ < streams_->plane.w;
  }

  const OperandStreams* streams_;
  const std::uint8_t* zeros_;
  std::int64_t min_dy_ = 0, max_dy_ = 0, min_dx_ = 0, max_dx_ = 0;
  std::int64_t image_ = 0, gy_ = 0, gx_ = 0, y_ = 0, x_ = 0, base_ = 0;
  bool interior_ = false;
};

}  // namespace

void StreamBlock::Free::operator()(std::uint16_t* words) const { std::free(words); }

StreamBlock::StreamBlock(std::int64_t rows, std::int64_t steps)
    : rows_(rows),
      slots_(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows)))),
      steps_(steps),
      pitch_((steps + kTail) * slots_) {
  // A multiple of 4 KB between groups would put the windows of a vector into the same few cache sets.
  pitch_ = (pitch_ + 31) / 32 * 32;
  if (pitch_ % 2048 == 0) pitch_ += 32;
}

void StreamBlock::reserve(std::int64_t groups) {
  groups_ = groups;
  if (groups <= capacity_) return;
  const std::size_t bytes = static_cast<std::size_t>(groups * pitch_) * sizeof(std::uint16_t);
  words_.reset(static_cast<std::uint16_t*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
  if (!words_) throw std::bad_alloc();
  std::memset(words_.get(), 0, bytes);  // the tails stay zero from here on
  capacity_ = groups;
}

void StreamBlock::load_pairs(const StreamBlock& rows, std::int64_t row_group, const StreamBlock& columns) {
  assert(rows_ == rows.rows() * columns.rows() && steps_ == rows.steps() && steps_ == columns.steps());
  reserve(columns.groups());
  for (std::int64_t g = 0; g < groups_; ++g) {
    const std::uint16_t* row = rows.group(row_group);
    const std::uint16_t* column = columns.group(g);
    std::uint16_t* out = group(g);
    for (std::int64_t step = 0; step < steps_; ++step) {
      for (std::int64_t r = 0; r < rows.rows(); ++r) {
        for (std::int64_t c = 0; c < columns.rows(); ++c) {
          out[r * columns.rows() + c] = static_cast<std::uint16_t>(row[r] & column[c]);
        }
      }
      row += rows.slots();
      column += columns.slots();
      out += slots_;
    }
  }
}

void StreamBlock::load(const OperandStreams& streams, std::int64_t first_group, std::int64_t groups) {
  assert(streams.lanes == kLanes);
  reserve(groups);
  const std::int64_t first = first_group * rows_;
  const std::int64_t count = std::min(groups * rows_, streams.count() - first);
  // Rows that have no stream: the slots beyond `rows`, and the end of the last group.
  if (slots_ != rows_ || count != groups * rows_) {
    for (std::int64_t g = 0; g < groups; ++g) std::fill_n(group(g), steps_ * slots_, std::uint16_t{0});
  }
  if (streams.axis == LaneAxis::kChannels) {
    load_channels(streams, first, count);
  } else {
    load_transposed(streams, first, count);
  }
}

void StreamBlock::load_channels(const OperandStreams& streams, std::int64_t first, std::int64_t count) {
  if (streams.channel0 % 8 != 0) {  // a convolution group that begins inside a byte: rare, and small
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t step = 0; step < steps_; ++step) {
        *element(i, step) = static_cast<std::uint16_t>(streams.word(first + i, step));
      }
    }
    return;
  }
  const std::int64_t full = streams.channels / kLanes;  // words of 16 channels
  const std::int64_t tail = streams.channels % kLanes;  // channels of the last, partial word
  const std::int64_t words = full + (tail != 0 ? 1 : 0);
  const auto tail_mask = static_cast<std::uint16_t>((1U << tail) - 1U);
  const std::vector<std::uint8_t> zeros(static_cast<std::size_t>(2 * words + 8), 0);
  const auto read_tail = [&](const std::uint8_t* row) {
    const unsigned low = row[2 * full];
    const unsigned high = tail > 8 ? row[2 * full + 1] : 0U;
    return static_cast<std::uint16_t>((low | (high << 8)) & tail_mask);
  };

  std::vector<WindowRows> windows(static_cast<std::size_t>(rows_), WindowRows(streams, zeros.data()));
  std::vector<const std::uint8_t*> sources(static_cast<std::size_t>(rows_));
  for (std::int64_t begin = 0; begin < count; begin += rows_) {
    const std::int64_t rows = std::min(rows_, count - begin);
    windows[0].seek(first + begin);
    for (std::int64_t r = 1; r < rows; ++r) {
      windows[static_cast<std::size_t>(r)] = windows[static_cast<std::size_t>(r - 1)];
      windows[static_cast<std::size_t>(r)].step();
    }
    std::uint16_t* out = element(begin, 0);
    for (const Tap& tap : streams.taps) {
      for (std::int64_t r = 0; r < rows; ++r) {
        sources[static_cast<std::size_t>(r)] = windows[static_cast<std::size_t>(r)].row(tap);
      }
      if (rows == 4 && slots_ == 4) {
        interleave4(sources.data(), full, out);
      } else {
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::uint8_t* source = sources[static_cast<std::size_t>(r)];
          for (std::int64_t w = 0; w < full; ++w) out[w * slots_ + r] = read16(source + 2 * w);
        }
      }
      if (tail != 0) {
        for (std::int64_t r = 0; r < rows; ++r) {
          out[full * slots_ + r] = read_tail(sources[static_cast<std::size_t>(r)]);
        }
      }
      out += words * slots_;
    }
  }
}

void StreamBlock::load_transposed(const OperandStreams& streams, std::int64_t first, std::int64_t count) {
  static const TransposeBits transpose = best_transpose_bits();
  const bool over_positions = streams.axis == LaneAxis::kPositions;
  const std::int64_t lane_elements = over_positions ? streams.grid.h * streams.grid.w : streams.images;
  const std::int64_t lane_groups = ceil_div(lane_elements, kLanes);
  const std::vector<std::uint8_t> zeros(8, 0);
  std::vector<std::int64_t> source_rows(static_cast<std::size_t>(lane_elements));
  const std::uint8_t* rows[kLanes];
  std::uint16_t bits[64];

  // Streams of one tap at a time; over images there is one "tap" for all streams and the taps are steps.
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t tap = (first + begin) / streams.channels;
    const std::int64_t channel = (first + begin) % streams.channels;
    const std::int64_t run = std::min(count - begin, streams.channels - channel);
    const std::int64_t outer_steps =
        over_positions ? streams.images : static_cast<std::int64_t>(streams.taps.size());
    for (std::int64_t outer = 0; outer < outer_steps; ++outer) {
      if (over_positions) {
        if (outer == 0) {
          const Tap& at = streams.taps[static_cast<std::size_t>(tap)];
          for (std::int64_t p = 0; p < lane_elements; ++p) {
            source_rows[static_cast<std::size_t>(p)] = streams.source_row(0, p, at);
          }
        }
      } else {
        const Tap& at = streams.taps[static_cast<std::size_t>(outer)];
        for (std::int64_t i = 0; i < lane_elements; ++i) {
          source_rows[static_cast<std::size_t>(i)] = streams.source_row(i, 0, at);
        }
      }
      const std::int64_t image_rows = over_positions ? outer * streams.plane.h * streams.plane.w : 0;
      for (std::int64_t lane_group = 0; lane_group < lane_groups; ++lane_group) {
        const std::int64_t step = outer * lane_groups + lane_group;
        const std::int64_t lane0 = lane_group * kLanes;
        const std::int64_t real = std::min<std::int64_t>(kLanes, lane_elements - lane0);
        for (std::int64_t done = 0; done < run;) {
          // Chunks of up to 64 channels, beginning at a byte.
          const std::int64_t bit = streams.channel0 + channel + done;
          const std::int64_t byte = bit / 8;
          const std::int64_t take = std::min(run - done, 64 - bit % 8);
          const int bytes = static_cast<int>((bit % 8 + take + 7) / 8);
          for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            const std::int64_t row = lane < real ? source_rows[static_cast<std::size_t>(lane0 + lane)] : -1;
            rows[lane] = row < 0 ? zeros.data() : streams.mask.row(row + image_rows) + byte;
          }
          transpose(rows, bytes, bits);
          const std::uint16_t* from = bits + bit % 8;
          std::int64_t stream = begin + done;
          const std::int64_t end = stream + take;
          if (rows_ == 4) {
            while (stream < end && stream % 4 != 0) *element(stream++, step) = *from++;
            for (; stream + 4 <= end; stream += 4, from += 4) std::memcpy(element(stream, step), from, 8);
          }
          while (stream < end) *element(stream++, step) = *from++;
          done += take;
        }
      }
    }
    begin += run;
  }
}

}  // namespace lacuna::tensordash
