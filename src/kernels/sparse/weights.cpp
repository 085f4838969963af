#include "kernels/sparse/weights.hpp"

#include <algorithm>
#include <cstring>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace lacuna::kernels {

WeightAccess::WeightAccess(const LayerShape& shape, bool checked_is_input, bool ohwi) {
  taps_ = shape.taps();
  tap_stride_ = ohwi ? shape.c_per_group() : 1;
  const std::int64_t input_stride = ohwi ? 1 : shape.taps();
  const std::int64_t output_stride = shape.c_per_group() * shape.taps();
  group_floats_ = shape.k_per_group() * output_stride;
  checked_stride_ = checked_is_input ? input_stride : output_stride;
  other_stride_ = checked_is_input ? output_stride : input_stride;
  checked_ = checked_is_input ? shape.c_per_group() : shape.k_per_group();
  other_ = checked_is_input ? shape.k_per_group() : shape.c_per_group();
}

template <typename Element>
void WeightAccess::each(std::int64_t channels, std::int64_t outs, const Element& element) const {
  if (checked_stride_ > other_stride_) {
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t k = 0; k < outs; ++k) element(c, k);
    return;
  }
  for (std::int64_t c0 = 0; c0 < channels; c0 += kLanes)
    for (std::int64_t k = 0; k < outs; ++k)
      for (std::int64_t c = c0; c < std::min(channels, c0 + kLanes); ++c) element(c, k);
}

void WeightAccess::pack_tiles(const float* plain, std::int64_t channel, std::int64_t channels,
                              std::int64_t out, std::int64_t outs, float* to, std::int64_t row) const {
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  std::ptrdiff_t offsets[kLanes];
  for (int k = 0; k < kLanes; ++k) offsets[k] = k * other_stride_;
  for (std::int64_t c0 = 0; c0 < channels; c0 += kLanes)
    for (std::int64_t k0 = 0; k0 < outs; k0 += kLanes) {
      const float* src = plain + (channel + c0) * checked_stride_ + (out + k0) * other_stride_;
      float* dst = to + c0 * row + k0;
      const bool whole = channel + c0 + kLanes <= checked_ && out + k0 + kLanes <= other_;
      if (whole && checked_stride_ == 1) {
        turn(src, offsets, kLanes, dst, row);
        continue;
      }
      for (std::int64_t c = 0; c < kLanes; ++c)
        if (whole)
          std::memcpy(dst + c * row, src + c * checked_stride_, kLanes * sizeof(float));
        else
          for (std::int64_t k = 0; k < kLanes; ++k)
            dst[c * row + k] = channel + c0 + c < checked_ && out + k0 + k < other_
                                   ? src[c * checked_stride_ + k * other_stride_]
                                   : 0.0F;
    }
}

void WeightAccess::unpack_tiles(const float* from, std::int64_t row, std::int64_t channel,
                                std::int64_t channels, std::int64_t out, std::int64_t outs,
                                float* plain) const {
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  std::ptrdiff_t offsets[kLanes];
  for (int c = 0; c < kLanes; ++c) offsets[c] = c * row;
  for (std::int64_t c0 = 0; c0 < channels; c0 += kLanes)
    for (std::int64_t k0 = 0; k0 < outs; k0 += kLanes) {
      const float* src = from + c0 * row + k0;
      float* dst = plain + (channel + c0) * checked_stride_ + (out + k0) * other_stride_;
      const std::int64_t left_c = std::min<std::int64_t>(kLanes, checked_ - channel - c0);
      const std::int64_t left_k = std::min<std::int64_t>(kLanes, other_ - out - k0);
      if (left_c == kLanes && left_k == kLanes && checked_stride_ == 1) {
        turn(src, offsets, kLanes, dst, other_stride_);
        continue;
      }
      for (std::int64_t c = 0; c < left_c; ++c)
        if (left_k == kLanes && other_stride_ == 1)
          std::memcpy(dst + c * checked_stride_, src + c * row, kLanes * sizeof(float));
        else
          for (std::int64_t k = 0; k < left_k; ++k)
            dst[c * checked_stride_ + k * other_stride_] = src[c * row + k];
    }
}

void WeightAccess::pack(const float* plain, std::int64_t group, std::int64_t channel, std::int64_t channels,
                        std::int64_t out, std::int64_t outs, std::int64_t tap, float* to,
                        std::int64_t row) const {
  const float* from = plain + group * group_floats_ + tap * tap_stride_;
  if (in_tiles()) return pack_tiles(from, channel, channels, out, outs, to, row);
  each(channels, outs, [&](std::int64_t c, std::int64_t k) {
    to[c * row + k] = channel + c < checked_ && out + k < other_
                          ? from[(channel + c) * checked_stride_ + (out + k) * other_stride_]
                          : 0.0F;
  });
}

void WeightAccess::unpack(const float* from, std::int64_t row, std::int64_t group, std::int64_t channel,
                          std::int64_t channels, std::int64_t out, std::int64_t outs, std::int64_t tap,
                          float* plain) const {
  float* to = plain + group * group_floats_ + tap * tap_stride_;
  if (in_tiles()) return unpack_tiles(from, row, channel, channels, out, outs, to);
  each(std::min(channels, checked_ - channel), std::min(outs, other_ - out),
       [&](std::int64_t c, std::int64_t k) {
         to[(channel + c) * checked_stride_ + (out + k) * other_stride_] = from[c * row + k];
       });
}

bool WeightAccess::pack_taps_tile(const float* plain, std::int64_t channel, std::int64_t out,
                                  std::int64_t outs, bool turned, float* to, std::int64_t row) const {
  if (!whole_tile(channel, out)) return false;
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  const float* src = plain + channel * checked_stride_ + out * other_stride_;
  std::ptrdiff_t offsets[kLanes];
  for (int k = 0; k < kLanes; ++k) offsets[k] = k * other_stride_;
  if (checked_stride_ ==
      taps_) {  // rows of outputs, in each of which pairs (channel, tap) follow one another
    if (turned || row != taps_ * outs) return false;
    const bool more = channel + 2 * kLanes <= checked_;
    for (std::int64_t i = 0; i < taps_; ++i) {
      if (more)  // the next tile: sixteen short runs, pages apart, that the hardware does not see coming
        for (int k = 0; k < kLanes; ++k) __builtin_prefetch(src + offsets[k] + (taps_ + i) * kLanes);
      turn(src + i * kLanes, offsets, kLanes, to + i * kLanes * outs, outs);
    }
    return true;
  }
  // One run of memory per channel, of which the transpose reads past the end.
  const float* end = plain + group_floats_;
  if (src + (kLanes - 1) * checked_stride_ + (kLanes - 1) * taps_ + kLanes > end) return false;
  alignas(64) float tile[kLanes * kLanes];
  for (std::int64_t c = 0; c < kLanes; ++c, src += checked_stride_, to += row) {
    // As above.
    constexpr std::int64_t kAhead = 6;
    if (src + kAhead * checked_stride_ < end)
      for (std::int64_t i = 0; i <= taps_ * kLanes; i += kLanes)
        __builtin_prefetch(src + kAhead * checked_stride_ + i);
    turn(src, offsets, kLanes, tile, kLanes);
    for (std::int64_t tap = 0; tap < taps_; ++tap)
      std::memcpy(to + tap * outs, tile + (turned ? taps_ - 1 - tap : tap) * kLanes, kLanes * sizeof(float));
  }
  return true;
}

bool WeightAccess::unpack_taps_tile(const float* from, std::int64_t row, std::int64_t channel,
                                    std::int64_t out, std::int64_t outs, bool turned, float* plain) const {
  if (!whole_tile(channel, out)) return false;
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  float* dst = plain + channel * checked_stride_ + out * other_stride_;
  std::ptrdiff_t offsets[kLanes * kLanes];
  const auto place = [&](std::int64_t tap) { return (turned ? taps_ - 1 - tap : tap) * outs; };
  if (checked_stride_ == taps_) {
    for (std::int64_t i = 0; i < kLanes * taps_; ++i) offsets[i] = i / taps_ * row + place(i % taps_);
    for (std::int64_t i = 0; i < taps_; ++i)
      turn(from, offsets + i * kLanes, kLanes, dst + i * kLanes, other_stride_);
    return true;
  }
  for (std::int64_t tap = 0; tap < taps_; ++tap) offsets[tap] = place(tap);
  alignas(64) float tile[kLanes * kLanes];
  for (std::int64_t c = 0; c < kLanes; ++c, from += row, dst += checked_stride_) {
    turn(from, offsets, static_cast<int>(taps_), tile, kLanes);
    // Whole vectors, each of which overwrites what the one before wrote too much.
    std::int64_t k = 0;
    for (; k * taps_ + kLanes <= kLanes * taps_; ++k)
      std::memcpy(dst + k * taps_, tile + k * kLanes, kLanes * sizeof(float));
    for (; k < kLanes; ++k)
      std::memcpy(dst + k * taps_, tile + k * kLanes, static_cast<std::size_t>(taps_) * sizeof(float));
  }
  return true;
}

void WeightAccess::pack_taps(const float* plain, std::int64_t group, std::int64_t channel,
                             std::int64_t channels, std::int64_t out, std::int64_t outs, bool turned,
                             float* to, std::int64_t row) const {
  const float* from = plain + group * group_floats_;
  if (in_tiles()) {
    for (std::int64_t tap = 0; tap < taps_; ++tap)
      pack_tiles(from + (turned ? taps_ - 1 - tap : tap) * tap_stride_, channel, channels, out, outs,
                 to + tap * outs, row);
    return;
  }
  for (std::int64_t c0 = 0; c0 < channels; c0 += kLanes)
    for (std::int64_t k0 = 0; k0 < outs; k0 += kLanes) {
      float* tile = to + c0 * row + k0;
      if (pack_taps_tile(from, channel + c0, out + k0, outs, turned, tile, row)) continue;
      each(std::min<std::int64_t>(kLanes, channels - c0), std::min<std::int64_t>(kLanes, outs - k0),
           [&](std::int64_t c, std::int64_t k) {
             const bool there = channel + c0 + c < checked_ && out + k0 + k < other_;
             const float* taps =
                 there ? from + (channel + c0 + c) * checked_stride_ + (out + k0 + k) * other_stride_
                       : nullptr;
             for (std::int64_t tap = 0; tap < taps_; ++tap)
               tile[c * row + tap * outs + k] =
                   there ? taps[(turned ? taps_ - 1 - tap : tap) * tap_stride_] : 0.0F;
           });
    }
}

void WeightAccess::unpack_taps(const float* from, std::int64_t row, std::int64_t group, std::int64_t channel,
                               std::int64_t channels, std::int64_t out, std::int64_t outs, bool turned,
                               float* plain) const {
  float* to = plain + group * group_floats_;
  if (in_tiles()) {
    for (std::int64_t tap = 0; tap < taps_; ++tap)
      unpack_tiles(from + tap * outs, row, channel, channels, out, outs,
                   to + (turned ? taps_ - 1 - tap : tap) * tap_stride_);
    return;
  }
  const std::int64_t all_c = std::min(channels, checked_ - channel);
  const std::int64_t all_k = std::min(outs, other_ - out);
  for (std::int64_t c0 = 0; c0 < all_c; c0 += kLanes)
    for (std::int64_t k0 = 0; k0 < all_k; k0 += kLanes) {
      const float* tile = from + c0 * row + k0;
      if (unpack_taps_tile(tile, row, channel + c0, out + k0, outs, turned, to)) continue;
      each(std::min<std::int64_t>(kLanes, all_c - c0), std::min<std::int64_t>(kLanes, all_k - k0),
           [&](std::int64_t c, std::int64_t k) {
             float* taps = to + (channel + c0 + c) * checked_stride_ + (out + k0 + k) * other_stride_;
             for (std::int64_t tap = 0; tap < taps_; ++tap)
               taps[(turned ? taps_ - 1 - tap : tap) * tap_stride_] = tile[c * row + tap * outs + k];
           });
    }
}

void fill_rows(float* plane, const float* value16, const PlaneRows& rows) {
  for (std::int64_t i = rows.begin * rows.width; i < rows.end * rows.width; ++i)
    std::memcpy(plane + i * rows.pixel_floats, value16, kLanes * sizeof(float));
}

void relu_rows(float* plane, const PlaneRows& rows) {
  for (std::int64_t i = rows.begin * rows.width; i < rows.end * rows.width; ++i) {
    float* pixel = plane + i * rows.pixel_floats;
    // NaN stays NaN: where there is one, the instruction gives its second operand.
#if defined(__SSE__)
    // GCC makes a branch per value of the loop below, and every other one was mispredicted: 15 % of a
    // training of vgg-small.
    for (int c = 0; c < kLanes; c += 4)
      _mm_storeu_ps(pixel + c, _mm_max_ps(_mm_setzero_ps(), _mm_loadu_ps(pixel + c)));
#else
    for (int c = 0; c < kLanes; ++c) pixel[c] = pixel[c] < 0.0F ? 0.0F : pixel[c];
#endif
  }
}

}  // namespace lacuna::kernels
