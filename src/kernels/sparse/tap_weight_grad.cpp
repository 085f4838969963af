// weight_grad of any convolution, one tap at a time. The pixels that meet in a tap are cut into tiles; in a
// tile each channel of the checked operand is a row of pixels (after a transposition) and the tile of the
// dense operand takes the place of weights, so that the pixel kernel does the rest: dW[channel] += sum over
// its non-zero pixels. Either operand can be the checked one.
#include <algorithm>
#include <cstring>
#include <omp.h>

#include "kernels/sparse/sparse_conv.hpp"
#include "kernels/sparse/weights.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::int64_t kTile = 64;  // pixels: one mask

// A chunk of channels of the checked operand is transposed at a time (64 KB, in L2) and used for this many
// vectors of the dense operand.
constexpr std::int64_t kGroupVectors = 32;

class TapWeightGrad final : public SparseConv {
 public:
  explicit TapWeightGrad(const KernelConfig& config) : SparseConv(config, "tap") {
    // Eight vectors make a dense tile of 32 KB. That is all of L1, and still faster than two passes over
    // four: half as many loop ends and as many loads and stores of sums.
    const std::vector<Part> parts = split_blocks(sides_.other.blocks(), kernels_.pixel_vectors);
    order_weights({WeightOrder::Taps::kOutside}, parts);
    const auto per_group =
        static_cast<std::size_t>(std::max<std::int64_t>(1, kGroupVectors / parts.front().count));
    for (std::size_t i = 0; i < parts.size(); i += per_group)
      part_groups_.emplace_back(
          parts.begin() + static_cast<std::ptrdiff_t>(i),
          parts.begin() + static_cast<std::ptrdiff_t>(std::min(parts.size(), i + per_group)));
    // One chunk per thread: more of them would gather the dense tiles more often.
    const std::int64_t others =
        shape_.groups * shape_.taps() * static_cast<std::int64_t>(part_groups_.size());
    chunks_ = thread_chunks(sides_.checked.blocks(), others, threads_);
    const std::int64_t tiles = (shape_.n * shape_.output_positions() + kTile - 1) / kTile;
    fetches_dense_ =
        shape_.stride.h == 1 && shape_.stride.w == 1 && shape_.output_positions() <= kLargestFetched;
    slices_ =
        sum_slices(others * static_cast<std::int64_t>(chunks_.size()), tiles, packed_floats(), threads_);
  }

  std::int64_t workspace_floats() const override {
    return threads_ * thread_floats() + (slices_ - 1) * packed_floats();
  }

  // A unit owns its part of a sum and goes through its pixels in order.
  void compute(const SparseRun& run) const override {
    const auto chunks = static_cast<std::int64_t>(chunks_.size());
    const auto groups = static_cast<std::int64_t>(part_groups_.size());
    const std::int64_t units = shape_.groups * shape_.taps() * groups * chunks;
    float* sums = run.workspace + threads_ * thread_floats();
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t job = 0; job < units * slices_; ++job) {
      const std::int64_t slice = job / units;
      const std::int64_t unit = job % units;
      const std::int64_t rest = unit / chunks / groups;
      run_unit(run, rest / shape_.taps(), rest % shape_.taps(),
               part_groups_[static_cast<std::size_t>(unit / chunks % groups)],
               chunks_[static_cast<std::size_t>(unit % chunks)], slice,
               slice == 0 ? run.out : sums + (slice - 1) * packed_floats());
    }
    add_slices(run.out, sums, packed_floats(), slices_, threads_);
  }

 private:
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
    void offsets(bool activations, const BlockedShape& tensor, std::int64_t first, int n,
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
        to[i] = image * tensor.image_floats() + pixel * tensor.pixel_floats();
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

  std::int64_t turned_floats() const { return chunks_.front().count * kLanes * kTile; }
  std::int64_t thread_floats() const { return turned_floats() + kMaxOutputVectors * kTile * kLanes; }
  std::int64_t part_offset(std::int64_t g, std::int64_t tap, const Part& part, std::int64_t block) const {
    return weights_.offset({g, part, block * kLanes, 0}) + tap * weights_.tap_floats(part);
  }

  void run_unit(const SparseRun& run, std::int64_t g, std::int64_t tap, const std::vector<Part>& parts,
                const Part& chunk, std::int64_t slice, float* out) const {
    alignas(64) static constexpr float kZeros[kMaxOutputVectors * kLanes] = {};
    const BlockedShape& in = sides_.checked;
    const BlockedShape& other = sides_.other;
    float* turned = run.workspace + omp_get_thread_num() * thread_floats();
    float* dense = turned + turned_floats();
    const TapPixels pixels(shape_, tap);
    // Whole tiles of all pixels of the tap.
    const std::int64_t tiles = (pixels.count(shape_.n) + kTile - 1) / kTile;
    const std::int64_t begin = slice * tiles / slices_ * kTile;
    const std::int64_t total = std::min((slice + 1) * tiles / slices_ * kTile, pixels.count(shape_.n));
    const bool activations = checked_ == Operand::kA;
    const float* checked = run.checked + g * in.group_floats() + chunk.first * in.block_floats();
    PixelRun job{};
    job.count = kLanes;
    job.src_step = kTile;
    job.src_block = kLanes;
    job.dst_block = kLanes;
    if (total <= begin)  // a tap that only ever meets padding, or fewer tiles than slices
      for (const Part& part : parts)
        std::memset(out + part_offset(g, tap, part, chunk.first), 0,
                    static_cast<std::size_t>(chunk.count * kLanes * part.count * kLanes) * sizeof(float));
    std::ptrdiff_t buffers[2][kTile];
    std::ptrdiff_t* offsets = buffers[0];
    std::ptrdiff_t* next_offsets = buffers[1];
    if (total > begin)
      pixels.offsets(activations, in, begin, static_cast<int>(std::min(kTile, total - begin)), next_offsets);
    for (std::int64_t first = begin; first < total; first += kTile) {
      const int count = static_cast<int>(std::min(kTile, total - first));
      const int blocks = (count + kLanes - 1) / kLanes;
      std::swap(offsets, next_offsets);
      for (std::int64_t b = 0; b < chunk.count; ++b)
        kernels_.transpose(checked + b * in.block_floats(), offsets, count, turned + b * kLanes * kTile,
                           kTile);
      // The next tile comes from memory while this one is worked on: turning it would otherwise wait for
      // memory three quarters of its time.
      const bool more = total - first - kTile >= kTile;
      if (first + kTile < total)
        pixels.offsets(activations, in, first + kTile,
                       static_cast<int>(std::min(kTile, total - first - kTile)), next_offsets);
      std::ptrdiff_t dense_offsets[kTile];
      pixels.offsets(!activations, other, first, count, dense_offsets);
      std::ptrdiff_t next_dense[kTile];
      const bool fetch = fetches_dense_ && more;
      if (fetch) pixels.offsets(!activations, other, first + kTile, kTile, next_dense);
      job.init = first == begin ? kZeros : nullptr;
      for (const Part& part : parts) {
        kernels_.gather(run.other + g * other.group_floats() + part.first * other.block_floats(),
                        other.block_floats(), dense_offsets, count, static_cast<int>(part.count), dense);
        job.weights = dense;
        job.dst_step = part.count * kLanes;
        const PixelKernel kernel =
            kernels_.pixel[static_cast<std::size_t>(part.count)][static_cast<std::size_t>(blocks)];
        // The part that is gathered next: of this tile, or the first one of the next tile.
        const bool last = &part == &parts.back();
        const Part& next = last ? parts.front() : *(&part + 1);
        const float* next_at = run.other + g * other.group_floats() + next.first * other.block_floats();
        const std::ptrdiff_t* next_pixels = last ? next_dense : dense_offsets;
        for (std::int64_t b = 0; b < chunk.count; ++b) {
          if (fetch)
            for (std::int64_t p = b * kTile / chunk.count; p < (b + 1) * kTile / chunk.count; ++p)
              for (std::int64_t k = 0; k < next.count; ++k)
                __builtin_prefetch(next_at + next_pixels[p] + k * other.block_floats(), 0, 2);
          job.src = turned + b * kLanes * kTile;
          job.dst = out + part_offset(g, tap, part, chunk.first + b);
          job.ahead = more && &part == &parts.front() ? checked + b * in.block_floats() : nullptr;
          job.ahead_offsets = next_offsets;
          kernel(job);
        }
      }
    }
  }

  // The tile of the dense operand that is gathered next comes from memory while this one is worked on: 28x28
  // 4 / 8 % faster at 50 / 90 % zeros, 14x14 2 / 4 % (1x1, Zen 4). Larger images the hardware fetches as
  // well, and with strides it cost 1 to 3 %.
  static constexpr std::int64_t kLargestFetched = 28 * 28;
  bool fetches_dense_ = false;
  std::vector<std::vector<Part>> part_groups_;
  std::vector<Part> chunks_;
  std::int64_t slices_ = 1;
};

bool supports(const KernelConfig& config) { return config.options.op == Operation::kWeightGrad; }

}  // namespace

constinit const ConvImplementation kTapWeightGrad = sparse_implementation<TapWeightGrad>(
    "tap", "weight_grad of any convolution, one tap at a time", supports);

}  // namespace lacuna::kernels
