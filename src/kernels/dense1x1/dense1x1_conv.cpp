// Dense 1x1 convolutions, forward and input_grad, in single precision: blocked tensors, stride 1, no padding,
// no groups, AVX-512. About as fast as oneDNN's matrix product on plain tensors where its kernel for blocked
// ones is not (512 channels to 128 or 256, 28x28, on a shared core).
#include <algorithm>

#include "kernels/conv_kernel.hpp"
#include "kernels/dense1x1/tile_kernel.hpp"
#include "kernels/layout/aligned_floats.hpp"

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

class Dense1x1Conv final : public ConvKernel {
 public:
  explicit Dense1x1Conv(const KernelConfig& config);

  const char* name() const override { return "dense1x1 avx512"; }
  std::int64_t packed_floats() const override {
    return parts() * kTileBlocks * kLanes * from_.blocks() * kLanes;
  }
  void pack(const float* oihw, float* packed) override;
  void unpack(const float*, float*) override {}
  void run(const ConvTensors& tensors, const KernelMemory& memory) override;

 private:
  struct Pass;
  std::int64_t parts() const { return (to_.blocks() + kTileBlocks - 1) / kTileBlocks; }
  std::int64_t tiles_per_image() const { return (from_.pixels() + kTilePixels - 1) / kTilePixels; }
  void run_range(const Pass& pass, std::int64_t tile, std::int64_t last_tile, std::int64_t part,
                 std::int64_t last_part) const;

  ConvOptions options_;
  const PixelTiles* tiles_;
  BlockedShape from_, to_;  // what is read and what is written
  AlignedFloats packed_, bias_;
};

Dense1x1Conv::Dense1x1Conv(const KernelConfig& config) : options_(config.options), tiles_(tiles_for(config)) {
  const bool forward = options_.op == Operation::kForward;
  from_ = forward ? config.src : config.dst;
  to_ = forward ? config.dst : config.src;
  if (!config.packed()) packed_ = AlignedFloats(packed_floats());
  bias_ = AlignedFloats(parts() * kTileBlocks * kLanes);
  std::fill_n(bias_.data(), bias_.size(), 0.0F);
}

// [part][input channel][outputs of the part]; channels that do not exist are zero. With one tap, ohwi is
// oihw.
void Dense1x1Conv::pack(const float* oihw, float* packed) {
  const bool forward = options_.op == Operation::kForward;
  const std::int64_t inputs = from_.channels, outputs = to_.channels;
  const std::int64_t output_step = forward ? inputs : 1, input_step = forward ? 1 : outputs;
  const std::int64_t panel = kTileBlocks * kLanes * from_.blocks() * kLanes;
#pragma omp parallel for num_threads(options_.threads) schedule(static)
  for (std::int64_t part = 0; part < parts(); ++part) {
    const std::int64_t first = part * kTileBlocks * kLanes;
    const std::int64_t blocks = std::min<std::int64_t>(kTileBlocks, to_.blocks() - part * kTileBlocks);
    const std::int64_t width = blocks * kLanes, exist = std::min(width, outputs - first);
    float* to = packed + part * panel;
    std::fill_n(to, panel, 0.0F);
    for (std::int64_t c = 0; c < inputs; ++c)
      for (std::int64_t k = 0; k < exist; ++k)
        to[c * width + k] = oihw[(first + k) * output_step + c * input_step];
  }
}

struct Dense1x1Conv::Pass {
  const float* src;
  const float* weights;
  float* dst;
};

void Dense1x1Conv::run_range(const Pass& pass, std::int64_t tile, std::int64_t last_tile, std::int64_t part,
                             std::int64_t last_part) const {
  const std::int64_t per_image = tiles_per_image(), blocks = from_.blocks();
  const std::int64_t panel = kTileBlocks * kLanes * blocks * kLanes;
  const auto first_pixel = [&](std::int64_t t) { return t % per_image * from_.pixels() / per_image; };
  const auto end_pixel = [&](std::int64_t t) { return (t % per_image + 1) * from_.pixels() / per_image; };
  const auto src_at = [&](std::int64_t t, std::int64_t block) {
    return pass.src + t / per_image * from_.image_floats() + block * from_.block_floats() +
           first_pixel(t) * kLanes;
  };
  const std::int64_t tile_bytes = kTilePixels * blocks * kLanes * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t chunk = std::max<std::int64_t>(1, kChunkBytes / tile_bytes);
  for (std::int64_t begin = tile; begin < last_tile; begin += chunk) {
    const std::int64_t end = std::min(begin + chunk, last_tile);
    for (std::int64_t p = part; p < last_part; ++p) {
      const std::int64_t first_block = p * kTileBlocks;
      const std::int64_t outputs = std::min<std::int64_t>(kTileBlocks, to_.blocks() - first_block);
      const bool to_next_chunk = p + 1 == last_part && end < last_tile;
      for (std::int64_t block = 0; block < blocks; block += kBlocksAtOnce) {
        for (std::int64_t t = begin; t < end; ++t) {
          PixelTile work{};
          work.src = src_at(t, block);
          work.src_block = from_.block_floats();
          work.next = src_at(t + 1 < end || to_next_chunk ? t + 1 : begin, block);
          work.blocks = std::min(kBlocksAtOnce, blocks - block);
          work.weights = pass.weights + p * panel + block * kLanes * outputs * kLanes;
          work.dst = pass.dst + t / per_image * to_.image_floats() + first_block * to_.block_floats() +
                     first_pixel(t) * kLanes;
          work.dst_block = to_.block_floats();
          work.bias = block == 0 ? bias_.data() + first_block * kLanes : nullptr;
          work.relu = options_.relu && block + kBlocksAtOnce >= blocks;
          tiles_->run[outputs - 1][end_pixel(t) - first_pixel(t) - 1](work);
        }
      }
    }
  }
}

void Dense1x1Conv::run(const ConvTensors& t, const KernelMemory&) {
  const bool forward = options_.op == Operation::kForward;
  Pass pass{forward ? t.src : t.diff_dst, t.weights, forward ? t.dst : t.diff_src};
  if (options_.weights != WeightLayout::kPacked) {
    if (!same_weights(t)) pack(t.weights, packed_.data());
    pass.weights = packed_.data();
  }
  if (options_.bias) std::copy_n(t.bias, to_.channels, bias_.data());
  // Each thread has a range of the tiles of all images, or, with more threads than tiles, of the outputs.
  const std::int64_t tiles = from_.n * tiles_per_image();
  const std::int64_t ranges = std::min<std::int64_t>(options_.threads, tiles);
  const std::int64_t columns = std::clamp<std::int64_t>(options_.threads / ranges, 1, parts());
#pragma omp parallel for num_threads(options_.threads) schedule(static)
  for (std::int64_t unit = 0; unit < ranges * columns; ++unit) {
    const std::int64_t r = unit / columns, c = unit % columns;
    run_range(pass, r * tiles / ranges, (r + 1) * tiles / ranges, c * parts() / columns,
              (c + 1) * parts() / columns);
  }
}

}  // namespace

const ConvImplementation kDense1x1Conv{
    .name = "dense1x1",
    .description = "dense 1x1, stride 1, forward and input_grad of blocked tensors (AVX-512)",
    .make = make_kernel<Dense1x1Conv>,
    .may_choose = always};

}  // namespace lacuna::kernels
