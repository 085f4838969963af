// Dense 1x1 convolutions, forward and input_grad, in single precision: blocked tensors, stride 1, no padding,
// no groups, AVX-512. About as fast as oneDNN's matrix product on plain tensors where its kernel for blocked
// ones is not (512 channels to 128 or 256, 28x28, on a shared core).
#include <algorithm>

#include "kernels/dense1x1/tile_kernel.hpp"
#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {
namespace {

using Code = ConvError::Code;

// Channels of one sum in registers; what dst has is the sum of those before. A panel of weights is 128 KB
// then.
constexpr std::int64_t kBlocksAtOnce = 64;
// Size of a chunk of pixels of which all outputs are computed before the next chunk: a quarter of L2.
constexpr std::int64_t kChunkBytes = 512 << 10;

const PixelTiles* tiles_for(const KernelConfig& config) {
  const LayerShape& s = config.shape;
  const ConvOptions& o = config.options;
  if (s.kind != LayerKind::kConv2d || s.groups > 1 || s.kernel != Size2{1, 1} || s.stride != Size2{1, 1} ||
      s.padding != Size2{0, 0} || o.op == Operation::kWeightGrad)
    throw ConvError(Code::kShape, "dense1x1 does forward and input_grad of 1x1 convolutions of stride 1",
                    "use direct");
  if (o.layout_of_src() != Layout::kBlocked || o.layout_of_dst() != Layout::kBlocked)
    throw ConvError(Code::kOption, "dense1x1 takes blocked tensors", "use the blocked layout, or direct");
#if defined(__x86_64__)
  if (config.isa == Isa::kAvx512) return &kAvx512PixelTiles;
#endif
  throw ConvError(Code::kOption, "dense1x1 needs AVX-512", "use direct");
}

class Dense1x1Conv final : public SparseConv {
 public:
  explicit Dense1x1Conv(const KernelConfig& config)
      : SparseConv(config, "dense1x1"),
        tiles_(tiles_for(config)),
        from_(sides_.checked),
        to_(sides_.other),
        tiles_per_image_((from_.pixels() + kTilePixels - 1) / kTilePixels) {
    std::vector<Part> parts;
    for (std::int64_t first = 0; first < to_.blocks(); first += kTileBlocks)
      parts.push_back({first, std::min<std::int64_t>(kTileBlocks, to_.blocks() - first)});
    order_weights({}, std::move(parts));
  }

  void compute(const SparseRun& run) const override {
    // Each thread has a range of the tiles of all images, or, with more threads than tiles, of the outputs.
    const std::int64_t tiles = from_.n * tiles_per_image_;
    const auto parts = static_cast<std::int64_t>(weights_.parts().size());
    const std::int64_t ranges = std::min<std::int64_t>(threads_, tiles);
    const std::int64_t columns = std::clamp<std::int64_t>(threads_ / ranges, 1, parts);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t unit = 0; unit < ranges * columns; ++unit) {
      const std::int64_t r = unit / columns, c = unit % columns;
      run_range(run, {r * tiles / ranges, (r + 1) * tiles / ranges},
                {c * parts / columns, (c + 1) * parts / columns});
    }
  }

 private:
  void run_range(const SparseRun& run, const Range& tiles, const Range& parts) const;

  const PixelTiles* tiles_;
  const BlockedShape &from_, &to_;  // what is read and what is written
  std::int64_t tiles_per_image_;
};

void Dense1x1Conv::run_range(const SparseRun& run, const Range& tiles, const Range& parts) const {
  const std::int64_t per_image = tiles_per_image_, blocks = from_.blocks();
  const auto first_pixel = [&](std::int64_t t) { return t % per_image * from_.pixels() / per_image; };
  const auto end_pixel = [&](std::int64_t t) { return (t % per_image + 1) * from_.pixels() / per_image; };
  const auto src_at = [&](std::int64_t t, std::int64_t block) {
    return run.checked + t / per_image * from_.image_floats() + block * from_.block_floats() +
           first_pixel(t) * kLanes;
  };
  const std::int64_t tile_bytes = kTilePixels * blocks * kLanes * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t chunk = std::max<std::int64_t>(1, kChunkBytes / tile_bytes);
  for (std::int64_t begin = tiles.begin; begin < tiles.end; begin += chunk) {
    const std::int64_t end = std::min(begin + chunk, tiles.end);
    for (std::int64_t p = parts.begin; p < parts.end; ++p) {
      const Part& part = weights_.parts()[static_cast<std::size_t>(p)];
      const bool to_next_chunk = p + 1 == parts.end && end < tiles.end;
      for (std::int64_t block = 0; block < blocks; block += kBlocksAtOnce) {
        for (std::int64_t t = begin; t < end; ++t) {
          PixelTile work{};
          work.src = src_at(t, block);
          work.src_block = from_.block_floats();
          work.next = src_at(t + 1 < end || to_next_chunk ? t + 1 : begin, block);
          work.blocks = std::min(kBlocksAtOnce, blocks - block);
          work.weights = run.other + weights_.offset({0, part, block * kLanes, 0});
          work.dst = run.out + t / per_image * to_.image_floats() + part.first * to_.block_floats() +
                     first_pixel(t) * kLanes;
          work.dst_block = to_.block_floats();
          work.bias = block == 0 ? run.bias + part.first * kLanes : nullptr;
          work.relu = run.relu && block + kBlocksAtOnce >= blocks;
          tiles_->run[part.count - 1][end_pixel(t) - first_pixel(t) - 1](work);
        }
      }
    }
  }
}

}  // namespace

const ConvImplementation kDense1x1Conv{
    .name = "dense1x1",
    .description = "dense 1x1, stride 1, forward and input_grad of blocked tensors (AVX-512)",
    .make = make_kernel<Dense1x1Conv>,
    .may_choose = always};

}  // namespace lacuna::kernels
