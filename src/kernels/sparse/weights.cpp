#include "kernels/sparse/weights.hpp"

#include <algorithm>
#include <cstring>

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

void WeightAccess::pack(const float* plain, std::int64_t group, std::int64_t channel, std::int64_t channels,
                        std::int64_t out, std::int64_t outs, std::int64_t tap, float* to,
                        std::int64_t row) const {
  const float* from = plain + group * group_floats_ + tap * tap_stride_;
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
  each(std::min(channels, checked_ - channel), std::min(outs, other_ - out),
       [&](std::int64_t c, std::int64_t k) {
         to[(channel + c) * checked_stride_ + (out + k) * other_stride_] = from[c * row + k];
       });
}

void WeightAccess::pack_taps(const float* plain, std::int64_t group, std::int64_t channel,
                             std::int64_t channels, std::int64_t out, std::int64_t outs, bool turned,
                             float* to, std::int64_t row) const {
  const float* from = plain + group * group_floats_;
  each(channels, outs, [&](std::int64_t c, std::int64_t k) {
    const bool there = channel + c < checked_ && out + k < other_;
    const float* taps = there ? from + (channel + c) * checked_stride_ + (out + k) * other_stride_ : nullptr;
    for (std::int64_t tap = 0; tap < taps_; ++tap)
      to[c * row + tap * outs + k] = there ? taps[(turned ? taps_ - 1 - tap : tap) * tap_stride_] : 0.0F;
  });
}

void WeightAccess::unpack_taps(const float* from, std::int64_t row, std::int64_t group, std::int64_t channel,
                               std::int64_t channels, std::int64_t out, std::int64_t outs, bool turned,
                               float* plain) const {
  float* to = plain + group * group_floats_;
  each(std::min(channels, checked_ - channel), std::min(outs, other_ - out),
       [&](std::int64_t c, std::int64_t k) {
         float* taps = to + (channel + c) * checked_stride_ + (out + k) * other_stride_;
         for (std::int64_t tap = 0; tap < taps_; ++tap)
           taps[(turned ? taps_ - 1 - tap : tap) * tap_stride_] = from[c * row + tap * outs + k];
       });
}

void fill_rows(float* plane, const float* value16, const PlaneRows& rows) {
  for (std::int64_t i = rows.begin * rows.width; i < rows.end * rows.width; ++i)
    std::memcpy(plane + i * rows.pixel_floats, value16, kLanes * sizeof(float));
}

void relu_rows(float* plane, const PlaneRows& rows) {
  for (std::int64_t i = rows.begin * rows.width; i < rows.end * rows.width; ++i) {
    float* pixel = plane + i * rows.pixel_floats;
    for (int c = 0; c < kLanes; ++c) pixel[c] = pixel[c] < 0.0F ? 0.0F : pixel[c];  // NaN stays NaN
  }
}

}  // namespace lacuna::kernels
