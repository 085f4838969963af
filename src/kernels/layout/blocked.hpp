// The blocked layout inside the library and the reorders between it and plain tensors.
// [n][group][blocks per group][h][w][16]: nChw16c wherever a group has whole blocks or there is one group.
// Channels-last tensors of whole blocks are the same with other steps between pixels and blocks: the kernels
// work on them as they are.
#pragma once

#include <cstdint>

#include "kernels/conv.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// Returns true if every group of a layer has whole blocks, or there is one group.
inline bool fills_blocks(const LayerShape& s) {
  return s.groups == 1 || (s.c_per_group() % kLanes == 0 && s.k_per_group() % kLanes == 0);
}

struct BlockedShape {
  std::int64_t n = 1;
  std::int64_t groups = 1;
  std::int64_t channels = 1;  // per group
  std::int64_t h = 1;
  std::int64_t w = 1;
  bool channels_last = false;  // [n][h][w][group][channel]: channels must be a multiple of 16

  std::int64_t blocks() const { return (channels + kLanes - 1) / kLanes; }
  std::int64_t pixels() const { return h * w; }
  // From a pixel, a block, a group or an image to the next.
  std::int64_t pixel_floats() const { return channels_last ? groups * channels : kLanes; }
  std::int64_t block_floats() const { return channels_last ? kLanes : plane_floats(); }
  std::int64_t group_floats() const { return blocks() * block_floats(); }
  std::int64_t image_floats() const { return groups * blocks() * plane_floats(); }
  std::int64_t plane_floats() const { return pixels() * kLanes; }  // in one block of one image
  std::int64_t floats() const { return n * image_floats(); }
  std::int64_t plain_floats() const { return n * groups * channels * pixels(); }
};

BlockedShape blocked_src(const LayerShape& shape);
BlockedShape blocked_dst(const LayerShape& shape);
// The tensor that a caller's Layout::kBlocked stands for: nChw16c over all channels. It differs from `shape`
// where groups end inside a block (depthwise convolutions).
BlockedShape stored_shape(const BlockedShape& shape);
// The same as the kernels take a tensor of this layout: without a copy where it is blocked and no group ends
// inside a block, or has whole blocks of channels last.
BlockedShape direct_shape(BlockedShape shape, Layout layout);
bool needs_no_copy(const BlockedShape& shape, Layout layout);

// Between a caller's tensor and whole blocks per group; the caller's may be kBlocked, too, where the two
// differ.
void to_blocked(const BlockedShape& shape, Layout from, const float* plain, float* blocked, int threads);
void from_blocked(const BlockedShape& shape, Layout to, const float* blocked, float* plain, int threads);

}  // namespace lacuna::kernels
