#include "kernels/sparse/tap_sums.hpp"

#include <algorithm>
#include <cstring>

namespace lacuna::kernels {

TapSums::TapSums(const KernelConfig& config, const char* kind)
    : SparseConv(config, kind),
      out_parts_(split_blocks(sides_.other.blocks(), kernels_.pixel_vectors)),
      one_pixel_(sides_.checked.pixels() == 1 && sides_.other.pixels() == 1),
      one_tap_(shape_.taps() == 1 && shape_.padding == Size2{0, 0}),
      starts_sums_(one_tap_ && (op_ == Operation::kForward || shape_.stride == Size2{1, 1})) {
  order_weights({WeightOrder::Taps::kOutside}, out_parts_);
}

std::int64_t TapSums::channel_blocks_in_l1(std::int64_t l1_bytes) const {
  const std::int64_t per_block =
      kLanes * out_parts_.front().count * kLanes * static_cast<std::int64_t>(sizeof(float));
  return std::clamp<std::int64_t>(l1_bytes * 3 / 4 / per_block, 1, kMaxMaskBlocks);
}

std::int64_t TapSums::unit_pixels() const {
  constexpr std::int64_t kHalfOfL2 = 262144;  // floats
  const BlockedShape& out = sides_.other;
  if (!out.channels_last || one_pixel_) return kUnitPixels;
  return std::clamp<std::int64_t>(kHalfOfL2 / out.pixel_floats(), 64, kUnitPixels);
}

void TapSums::fill(float* out, const float* bias, const Part& part, const Range& rows) const {
  const BlockedShape& of = sides_.other;
  if (!of.channels_last) {
    for (std::int64_t k = 0; k < part.count; ++k)
      fill_rows(out + k * of.block_floats(), bias + k * kLanes, {of.w, kLanes, rows.begin, rows.end});
    return;
  }
  for (std::int64_t pixel = rows.begin * of.w; pixel < rows.end * of.w; ++pixel)
    std::memcpy(out + pixel * of.pixel_floats(), bias,
                static_cast<std::size_t>(part.count * kLanes) * sizeof(float));
}

void TapSums::relu(float* out, const Part& part, const Range& rows) const {
  const BlockedShape& of = sides_.other;
  for (std::int64_t k = 0; k < part.count; ++k)
    relu_rows(out + k * of.block_floats(), {of.w, of.pixel_floats(), rows.begin, rows.end});
}

}  // namespace lacuna::kernels
