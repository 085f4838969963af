// The blocked layout inside the library and the reorders between it and plain tensors.
// [n][group][blocks per group][h][w][16]: nChw16c wherever a group has whole blocks or there is one group.
#pragma once

#include <cstdint>

#include "kernels/conv.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

struct BlockedShape {
  std::int64_t n = 1;
  std::int64_t groups = 1;
  std::int64_t channels = 1;  // per group
  std::int64_t h = 1;
  std::int64_t w = 1;

  std::int64_t blocks() const { return (channels + kLanes - 1) / kLanes; }
  std::int64_t pixels() const { return h * w; }
  std::int64_t block_floats() const { return pixels() * kLanes; }
  std::int64_t group_floats() const { return blocks() * block_floats(); }
  std::int64_t image_floats() const { return groups * group_floats(); }
  std::int64_t floats() const { return n * image_floats(); }
  std::int64_t plain_floats() const { return n * groups * channels * pixels(); }
};

BlockedShape blocked_src(const LayerShape& shape);
BlockedShape blocked_dst(const LayerShape& shape);
// The tensor that a caller's Layout::kBlocked stands for: nChw16c over all channels. It differs from `shape`
// where groups end inside a block (depthwise convolutions).
BlockedShape stored_shape(const BlockedShape& shape);

// Between a caller's tensor and whole blocks per group; the caller's may be kBlocked, too, where the two
// differ.
void to_blocked(const BlockedShape& shape, Layout from, const float* plain, float* blocked, int threads);
void from_blocked(const BlockedShape& shape, Layout to, const float* blocked, float* plain, int threads);

}  // namespace lacuna::kernels
