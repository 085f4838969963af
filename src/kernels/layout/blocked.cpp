#include "kernels/layout/blocked.hpp"

#include <algorithm>

namespace lacuna::kernels {
namespace {

// Floats from one channel / pixel to the next in a plain layout.
struct PlainStrides {
  std::int64_t image, channel, pixel;
  PlainStrides(const BlockedShape& s, Layout layout) {
    const std::int64_t all = s.groups * s.channels;
    image = all * s.pixels();
    channel = layout == Layout::kNchw ? s.pixels() : 1;
    pixel = layout == Layout::kNchw ? 1 : all;
  }
};

constexpr std::int64_t kChunk = 64;  // pixels transposed at a time: 16 streams of 256 bytes

template <class Move>
void for_each_chunk(const BlockedShape& s, Layout layout, int threads, const Move& move) {
  const PlainStrides stride(s, layout);
  const std::int64_t blocks = s.groups * s.blocks();
  const std::int64_t jobs = s.n * blocks;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t job = 0; job < jobs; ++job) {
    const std::int64_t n = job / blocks;
    const std::int64_t group = job % blocks / s.blocks();
    const std::int64_t block = job % s.blocks();
    const int lanes = static_cast<int>(std::min<std::int64_t>(kLanes, s.channels - block * kLanes));
    const std::int64_t plain = n * stride.image + (group * s.channels + block * kLanes) * stride.channel;
    const std::int64_t blocked = job * s.plane_floats();
    for (std::int64_t p = 0; p < s.pixels(); p += kChunk)
      move(plain + p * stride.pixel, blocked + p * kLanes, lanes, std::min(kChunk, s.pixels() - p), stride);
  }
}

// Calls move(at in nChw16c over all channels, at in whole blocks per group) for each value of a pixel, in the
// order of the latter; the first is -1 for padding channels.
template <class Move>
void for_each_stored(const BlockedShape& s, int threads, const Move& move) {
  const BlockedShape stored = stored_shape(s);
  const std::int64_t blocks = s.groups * s.blocks();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t job = 0; job < s.n * blocks; ++job) {
    const std::int64_t n = job / blocks;
    const std::int64_t group = job % blocks / s.blocks();
    const std::int64_t first = job % s.blocks() * kLanes;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const bool padding = first + lane >= s.channels;
      const std::int64_t channel = group * s.channels + first + lane;
      const std::int64_t from =
          n * stored.image_floats() + channel / kLanes * stored.block_floats() + channel % kLanes;
      for (std::int64_t p = 0; p < s.pixels(); ++p)
        move(padding ? -1 : from + p * kLanes, job * s.block_floats() + p * kLanes + lane);
    }
  }
}

}  // namespace

BlockedShape stored_shape(const BlockedShape& s) {
  if (s.groups == 1 || s.channels % kLanes == 0) return s;
  return {s.n, 1, s.groups * s.channels, s.h, s.w};
}

BlockedShape blocked_src(const LayerShape& shape) {
  return {shape.n, shape.groups, shape.c_per_group(), shape.input.h, shape.input.w};
}

BlockedShape blocked_dst(const LayerShape& shape) {
  return {shape.n, shape.groups, shape.k_per_group(), shape.output.h, shape.output.w};
}

bool needs_no_copy(const BlockedShape& shape, Layout layout) {
  const bool whole_blocks = shape.channels % kLanes == 0;
  return layout == Layout::kBlocked ? shape.groups == 1 || whole_blocks
                                    : layout == Layout::kNhwc && whole_blocks;
}

BlockedShape direct_shape(BlockedShape shape, Layout layout) {
  shape.channels_last = layout == Layout::kNhwc && needs_no_copy(shape, layout);
  return shape;
}

// The AVX-512 kernels turn 16 channels of 16 pixels in registers. Element by element, NCHW took 3 ns per
// float: nine times as long as the rest of a 1x1 convolution 64->128 at 50 % zeros.
void to_blocked(const BlockedShape& shape, Layout from, const float* plain, float* blocked, int threads) {
  if (from == Layout::kBlocked) {
    for_each_stored(shape, threads, [=](std::int64_t stored, std::int64_t at) {
      blocked[at] = stored < 0 ? 0.0F : plain[stored];
    });
    return;
  }
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  for_each_chunk(shape, from, threads,
                 [=](std::int64_t p, std::int64_t b, int lanes, std::int64_t pixels, const PlainStrides& s) {
                   const float* src = plain + p;
                   float* dst = blocked + b;
                   std::int64_t i = 0;
                   if (s.pixel == 1) {
                     std::ptrdiff_t channels[kLanes];
                     for (int c = 0; c < lanes; ++c) channels[c] = c * s.channel;
                     for (; i + kLanes <= pixels; i += kLanes)
                       turn(src + i, channels, lanes, dst + i * kLanes, kLanes);
                   }
                   for (; i < pixels; ++i) {
                     for (int c = 0; c < lanes; ++c) dst[i * kLanes + c] = src[i * s.pixel + c * s.channel];
                     for (int c = lanes; c < kLanes; ++c) dst[i * kLanes + c] = 0.0F;
                   }
                 });
}

void from_blocked(const BlockedShape& shape, Layout to, const float* blocked, float* plain, int threads) {
  if (to == Layout::kBlocked) {
    const BlockedShape stored = stored_shape(shape);
    for (std::int64_t n = 0; n < stored.n && stored.channels % kLanes != 0; ++n)  // padding channels
      std::fill_n(plain + (n + 1) * stored.image_floats() - stored.block_floats(), stored.block_floats(),
                  0.0F);
    for_each_stored(shape, threads, [=](std::int64_t at_plain, std::int64_t at) {
      if (at_plain >= 0) plain[at_plain] = blocked[at];
    });
    return;
  }
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  for_each_chunk(shape, to, threads,
                 [=](std::int64_t p, std::int64_t b, int lanes, std::int64_t pixels, const PlainStrides& s) {
                   const float* src = blocked + b;
                   float* dst = plain + p;
                   std::int64_t i = 0;
                   if (s.pixel == 1 && lanes == kLanes) {
                     std::ptrdiff_t offsets[kLanes];
                     for (int c = 0; c < kLanes; ++c) offsets[c] = c * kLanes;
                     for (; i + kLanes <= pixels; i += kLanes)
                       turn(src + i * kLanes, offsets, kLanes, dst + i, s.channel);
                   }
                   for (; i < pixels; ++i)
                     for (int c = 0; c < lanes; ++c) dst[i * s.pixel + c * s.channel] = src[i * kLanes + c];
                 });
}

}  // namespace lacuna::kernels
