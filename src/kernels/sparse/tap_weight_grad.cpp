// weight_grad of any convolution, one tap at a time. The pixels that meet in a tap are cut into tiles; in a
// tile each channel of the checked operand is a row of pixels (after a transpose) and the tile of the dense
// operand takes the place of weights, so that the pixel kernel does the rest: dW[channel] += sum over its
// non-zero pixels. Either operand can be the checked one.
#include "kernels/sparse/tap_weight_grad.hpp"

#include <algorithm>
#include <cstring>
#include <omp.h>

#include "kernels/sparse/weights.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::int64_t kTransposedBytes = 512 * 1024;  // tiles that wait in L2 for all blocks of outputs

class TapWeightGrad final : public SparseConv {
 public:
  explicit TapWeightGrad(const SparseConfig& config)
      : shape_(config.shape),
        checked_(config.checked),
        threads_(config.threads),
        kernels_(micro_kernels(config.isa)),
        sides_(config),
        name_(std::string("tap ") + kernels_.isa) {
    // Four vectors and 64 pixels: a dense tile of 16 KB, and few enough sums to load and store a channel.
    out_parts_ = split_blocks(sides_.other.blocks(), std::min(4, kernels_.pixel_vectors));
    const std::int64_t tile_bytes = channels() * kTile * static_cast<std::int64_t>(sizeof(float));
    tiles_ = std::clamp<std::int64_t>(kTransposedBytes / tile_bytes, 1, 64);
    const auto parts = static_cast<std::int64_t>(out_parts_.size());
    const std::int64_t wanted = threads_ == 1 ? 1 : (4 * threads_ + parts - 1) / parts;
    chunk_blocks_ = std::max<std::int64_t>((sides_.checked.blocks() + wanted - 1) / wanted,
                                           std::min<std::int64_t>(4, sides_.checked.blocks()));
    chunks_ = (sides_.checked.blocks() + chunk_blocks_ - 1) / chunk_blocks_;
  }

  const char* name() const override { return name_.c_str(); }
  std::int64_t packed_floats() const override {
    return shape_.groups * shape_.taps() * sides_.checked.blocks() * sides_.other.blocks() * kLanes * kLanes;
  }
  std::int64_t workspace_floats() const override {
    return tiles_ * channels() * kTile + threads_ * thread_floats();
  }
  void pack(const float*, float*) const override {}

  void unpack(const float* packed, float* oihw) const override {
    const WeightAccess access(shape_, checked_ == Checked::kActivations);
#pragma omp parallel for num_threads(threads_) schedule(static) collapse(2)
    for (std::int64_t g = 0; g < shape_.groups; ++g)
      for (std::int64_t tap = 0; tap < shape_.taps(); ++tap)
        for (const Part& part : out_parts_)
          access.unpack(packed + part_offset(g, tap, part), part.count * kLanes, g, 0, channels(),
                        part.first * kLanes, part.count * kLanes, tap, oihw);
  }

  void run(const SparseRun& run) const override {
    const std::int64_t tap_floats = packed_floats() / (shape_.groups * shape_.taps());
#pragma omp parallel num_threads(threads_)
    {
      float* dense = run.workspace + tiles_ * channels() * kTile + omp_get_thread_num() * thread_floats();
      for (std::int64_t g = 0; g < shape_.groups; ++g)
        for (std::int64_t tap = 0; tap < shape_.taps(); ++tap) {
          const TapPixels pixels(shape_, tap);
          const std::int64_t tiles = (pixels.count(shape_.n) + kTile - 1) / kTile;
#pragma omp for schedule(static)
          for (std::int64_t c = 0; c < channels(); ++c)
            std::memset(run.out + (g * shape_.taps() + tap) * tap_floats + c * tap_floats / channels(), 0,
                        static_cast<std::size_t>(tap_floats / channels()) * sizeof(float));
          for (std::int64_t first = 0; first < tiles; first += tiles_) {
            const std::int64_t group_tiles = std::min(tiles_, tiles - first);
#pragma omp for schedule(dynamic)
            for (std::int64_t job = 0; job < group_tiles * sides_.checked.blocks(); ++job)
              transpose(run, g, pixels, first, job / sides_.checked.blocks(), job % sides_.checked.blocks());
#pragma omp for schedule(dynamic)
            for (std::int64_t unit = 0; unit < static_cast<std::int64_t>(out_parts_.size()) * chunks_; ++unit)
              run_unit(run, g, tap, pixels, first, group_tiles,
                       out_parts_[static_cast<std::size_t>(unit / chunks_)], unit % chunks_, dense);
          }
        }
    }
  }

 private:
  static constexpr std::int64_t kTile = 64;

  // The pairs of pixels of one tap, numbered over images, rows and columns.
  struct TapPixels {
    TapPixels(const LayerShape& s, std::int64_t tap)
        : shape(s),
          offset_h(tap / s.kernel.w * s.dilation.h - s.padding.h),
          offset_w(tap % s.kernel.w * s.dilation.w - s.padding.w),
          rows(valid_outputs(s.output.h, s.input.h, s.stride.h, offset_h)),
          cols(valid_outputs(s.output.w, s.input.w, s.stride.w, offset_w)) {}
    std::int64_t per_image() const { return (rows.end - rows.begin) * (cols.end - cols.begin); }
    std::int64_t count(std::int64_t n) const { return n * per_image(); }

    // Offsets of pixels [first, first + n) in the tensor of activations or of gradients.
    void offsets(bool activations, std::int64_t image_floats, std::int64_t first, int n,
                 std::ptrdiff_t* to) const {
      const std::int64_t width = cols.end - cols.begin;
      std::int64_t image = first / per_image();
      std::int64_t row = first % per_image() / width;
      std::int64_t col = first % width;
      for (int i = 0; i < n; ++i) {
        const std::int64_t oh = rows.begin + row;
        const std::int64_t ow = cols.begin + col;
        const std::int64_t pixel =
            activations ? (oh * shape.stride.h + offset_h) * shape.input.w + ow * shape.stride.w + offset_w
                        : oh * shape.output.w + ow;
        to[i] = image * image_floats + pixel * kLanes;
        if (++col == width) {
          col = 0;
          if (++row == rows.end - rows.begin) {
            row = 0;
            ++image;
          }
        }
      }
    }

    const LayerShape& shape;
    std::int64_t offset_h, offset_w;
    Range rows, cols;
  };

  std::int64_t channels() const { return sides_.checked.blocks() * kLanes; }
  std::int64_t thread_floats() const { return kTile * out_parts_.front().count * kLanes; }
  // [group][tap][part][checked channel][part.count * 16]
  std::int64_t part_offset(std::int64_t g, std::int64_t tap, const Part& part) const {
    return ((g * shape_.taps() + tap) * sides_.other.blocks() + part.first) * channels() * kLanes;
  }
  static int tile_pixels(const TapPixels& pixels, std::int64_t n, std::int64_t tile) {
    return static_cast<int>(std::min(kTile, pixels.count(n) - tile * kTile));
  }

  void transpose(const SparseRun& run, std::int64_t g, const TapPixels& pixels, std::int64_t first,
                 std::int64_t tile, std::int64_t block) const {
    const int count = tile_pixels(pixels, shape_.n, first + tile);
    const BlockedShape& in = sides_.checked;
    std::ptrdiff_t offsets[kTile];
    pixels.offsets(checked_ == Checked::kActivations, in.image_floats(), (first + tile) * kTile, count,
                   offsets);
    kernels_.transpose(run.checked + g * in.group_floats() + block * in.block_floats(), offsets, count,
                       run.workspace + (tile * channels() + block * kLanes) * kTile, kTile);
  }

  void run_unit(const SparseRun& run, std::int64_t g, std::int64_t tap, const TapPixels& pixels,
                std::int64_t first, std::int64_t tiles, const Part& part, std::int64_t chunk,
                float* dense) const {
    const BlockedShape& other = sides_.other;
    const std::int64_t block0 = chunk * chunk_blocks_;
    const std::int64_t row = part.count * kLanes;
    const float* from = run.other + g * other.group_floats() + part.first * other.block_floats();
    PixelRun job{};
    job.count = (std::min(block0 + chunk_blocks_, sides_.checked.blocks()) - block0) * kLanes;
    job.src_step = kTile;
    job.src_block = kLanes;
    job.dst = run.out + part_offset(g, tap, part) + block0 * kLanes * row;
    job.dst_step = row;
    job.dst_block = kLanes;
    job.weights = dense;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const int count = tile_pixels(pixels, shape_.n, first + tile);
      std::ptrdiff_t offsets[kTile];
      pixels.offsets(checked_ == Checked::kGradients, other.image_floats(), (first + tile) * kTile, count,
                     offsets);
      for (int p = 0; p < count; ++p)
        for (std::int64_t k = 0; k < part.count; ++k)
          std::memcpy(dense + p * row + k * kLanes, from + offsets[p] + k * other.block_floats(),
                      kLanes * sizeof(float));
      job.src = run.workspace + (tile * channels() + block0 * kLanes) * kTile;
      const int blocks = (count + kLanes - 1) / kLanes;
      kernels_.pixel[static_cast<std::size_t>(part.count)][static_cast<std::size_t>(blocks)](job);
    }
  }

  LayerShape shape_;
  Checked checked_;
  int threads_;
  const MicroKernels& kernels_;
  Sides sides_;
  std::string name_;
  std::vector<Part> out_parts_;
  std::int64_t tiles_ = 1;
  std::int64_t chunk_blocks_ = 1;
  std::int64_t chunks_ = 1;
};

}  // namespace

bool tap_weight_grad_supports(const SparseConfig& config) { return config.op == Op::kWeightGrad; }

std::unique_ptr<SparseConv> make_tap_weight_grad(const SparseConfig& config) {
  return std::make_unique<TapWeightGrad>(config);
}

}  // namespace lacuna::kernels
