// forward and input_grad, 3x3, stride 1, padding 1: the layers with most of the work of VGG and ResNet. A
// pre-pass writes masks and packed non-zeros of a few images, all blocks of outputs read them.
#include <algorithm>
#include <cstring>
#include <omp.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "kernels/sparse/sparse_conv.hpp"
#include "kernels/sparse/weights.hpp"

namespace lacuna::kernels {
namespace {

// A block of weights is channels x 9 x 16 floats. If it does not fit L1, a third of the speed is lost at few
// zeros (64 channels, 36 KB, in an L1 of 32 KB: 0.53x of oneDNN direct at no zeros).
std::int64_t channel_blocks_in_l1(std::int64_t l1_bytes) {
  const std::int64_t per_block = kLanes * 9 * kLanes * static_cast<std::int64_t>(sizeof(float));
  return std::clamp<std::int64_t>((l1_bytes - 4 * 1024) / per_block, 1, kMaxMaskBlocks);
}

// Result pixels of a unit: 16 outputs each, 200 KB, in L2 over all blocks of channels.
constexpr std::int64_t kUnitPixels = 3136;

// Units of at most this many pixels prefetch the next part of the weights while one is used: with 7x7 images
// they are read once, in no order, from far away, and took 3 / 12 % of the time at 50 / 90 % zeros (512->512,
// batch 16, Zen 4). With more pixels there is nothing to gain.
constexpr std::int64_t kFewPixels = 1024;

// Weights of at least this many bytes are packed while they are used, if a unit has the whole batch: they do
// not stay in L2, and writing and reading them took half of the time of layers with 512 channels on 2x2
// pixels.
constexpr std::int64_t kLargeWeights = 1024 * 1024;

// 16 floats for each of `count` pixels, around the caches where the result is larger than they are.
void copy_lines(const float* from, std::int64_t count, float* to, std::int64_t step,
                [[maybe_unused]] std::int64_t floats) {
#if defined(__SSE__)
  constexpr std::int64_t kLargestCached = 4 << 20;  // floats
  if (floats > kLargestCached && reinterpret_cast<std::uintptr_t>(to) % 64 == 0) {
    for (std::int64_t pixel = 0; pixel < count; ++pixel, from += kLanes, to += step)
      for (int i = 0; i < kLanes; i += 4) _mm_stream_ps(to + i, _mm_load_ps(from + i));
    _mm_sfence();
    return;
  }
#endif
  for (std::int64_t pixel = 0; pixel < count; ++pixel, from += kLanes, to += step)
    std::memcpy(to, from, kLanes * sizeof(float));
}

class WindowConv final : public SparseConv {
 public:
  explicit WindowConv(const KernelConfig& config) : SparseConv(config, "window") {
    parts_ = ChannelParts(sides_.checked.blocks(), channel_blocks_in_l1(config.l1_bytes));
    // input_grad is forward with the kernel turned.
    order_weights(op_ == Operation::kForward ? WeightOrder::Layout{} : kTurned,
                  split_blocks(sides_.other.blocks(), 1));
    const std::int64_t pixels = sides_.other.pixels();
    images_ = std::min(shape_.n, std::max<std::int64_t>(1, kUnitPixels / pixels));
    // With enough images each thread takes some of them from the first step to the last and shares nothing;
    // otherwise all work on the same images, with a barrier after the pre-pass.
    in_cache_ = images_ == shape_.n && sides_.checked.blocks() > 1 &&
                packed_floats() * static_cast<std::int64_t>(sizeof(float)) >= kLargeWeights;
    // Threads that share large weights read only the weights of their outputs.
    private_ = threads_ > 1 && shape_.n >= 2 * threads_ && !in_cache_;
    if (private_) images_ = std::min(images_, std::max<std::int64_t>(1, shape_.n / (2 * threads_)));
    const std::int64_t lines_in_l1 = config.l1_bytes / 64 * kLanes / sides_.other.pixel_floats();
    // From 256 channels on, half of it is too much: 256->256 @14x14 took 1.2 to 1.4 times as long.
    const std::int64_t most = sides_.other.pixel_floats() >= 256 ? lines_in_l1 / 2 : lines_in_l1;
    apart_ = sides_.other.channels_last && 3 * sides_.other.w > most;
    const std::int64_t bands = (pixels + kUnitPixels - 1) / kUnitPixels;
    band_rows_ = (sides_.other.h + bands - 1) / bands;
    fetches_weights_ = images_ * pixels <= kFewPixels;
    bands_ = (sides_.other.h + band_rows_ - 1) / band_rows_;
  }

  // Values first, then the 64-bit masks of each row and part, and one word per row for its kernel.
  std::int64_t workspace_floats() const override {
    return sums_at() + (apart_ ? threads_ * sums_floats() : 0);
  }
  bool takes_plain() const override { return in_cache_; }

  void compute(const SparseRun& run) const override {
    auto* values = run.workspace;
    auto* masks = reinterpret_cast<std::uint64_t*>(run.workspace + values_floats());
    const std::vector<Part>& channel_parts = parts_.choose(run.checked, sides_.checked.floats());
    const auto parts = static_cast<std::int64_t>(channel_parts.size());
    const std::int64_t outs = sides_.other.blocks();
    if (private_) {
      const std::int64_t sets = (shape_.n + images_ - 1) / images_;
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
      for (std::int64_t job = 0; job < shape_.groups * sets; ++job) {
        float* own = run.workspace + omp_get_thread_num() * image_set_floats();
        auto* own_masks = reinterpret_cast<std::uint64_t*>(own + values_floats());
        const std::int64_t g = job / sets;
        const std::int64_t n0 = job % sets * images_;
        const std::int64_t images = std::min(images_, shape_.n - n0);
        for (std::int64_t image = 0; image < images; ++image)
          for (std::int64_t part = 0; part < parts; ++part)
            compress(run, g, n0, image, channel_parts[static_cast<std::size_t>(part)], part, own, own_masks);
        for (std::int64_t unit = 0; unit < outs * bands_; ++unit)
          run_unit(run, channel_parts, g, n0, images, unit_at(unit), own, own_masks);
      }
      return;
    }
#pragma omp parallel num_threads(threads_)
    for (std::int64_t g = 0; g < shape_.groups; ++g)
      for (std::int64_t n0 = 0; n0 < shape_.n; n0 += images_) {
        const std::int64_t images = std::min(images_, shape_.n - n0);
#pragma omp for schedule(dynamic)
        for (std::int64_t job = 0; job < images * parts; ++job)
          compress(run, g, n0, job / parts, channel_parts[static_cast<std::size_t>(job % parts)], job % parts,
                   values, masks);
          // A unit owns its rows of its outputs, so that no other unit adds to them and the order of
          // additions never changes.
#pragma omp for schedule(dynamic)
        for (std::int64_t unit = 0; unit < outs * bands_; ++unit)
          run_unit(run, channel_parts, g, n0, images, unit_at(unit), values, masks);
      }
  }

 private:
  static constexpr std::int64_t kPartFloats = kMaxMaskBlocks * kLanes * 9 * kLanes;

  struct Unit {
    std::int64_t out_block, band;
  };
  // The blocks of a channels-last pixel lie side by side: all of them while it is in L2.
  Unit unit_at(std::int64_t i) const {
    const std::int64_t outs = sides_.other.blocks();
    return sides_.other.channels_last ? Unit{i % outs, i / outs} : Unit{i / bands_, i % bands_};
  }

  std::int64_t sums_at() const {
    return (private_ ? threads_ : 1) * image_set_floats() + (in_cache_ ? threads_ * kPartFloats : 0);
  }
  std::int64_t sums_floats() const { return images_ * band_floats(); }
  std::int64_t band_floats() const { return band_rows_ * sides_.other.w * kLanes; }
  std::int64_t image_set_floats() const { return round_up(values_floats() + 2 * mask_count(), kLanes); }
  std::int64_t image_values() const { return sides_.checked.blocks() * sides_.checked.plane_floats(); }
  std::int64_t values_floats() const { return images_ * image_values() + kLanes; }
  std::int64_t row_words() const { return sides_.checked.w + 1; }
  std::int64_t mask_count() const { return mask_offset(images_, 0); }
  std::int64_t mask_offset(std::int64_t image, std::int64_t part) const {
    return (image * parts_.most() + part) * sides_.checked.h * row_words();
  }

  void compress(const SparseRun& run, std::int64_t g, std::int64_t n0, std::int64_t image, const Part& part,
                std::int64_t part_index, float* values, std::uint64_t* masks) const {
    const BlockedShape& in = sides_.checked;
    const float* src = run.checked + (n0 + image) * in.image_floats() + g * in.group_floats() +
                       part.first * in.block_floats();
    const auto row = [&](std::int64_t h) {
      return PixelRow{src + h * in.w * in.pixel_floats(), in.pixel_floats(), in.block_floats(),
                      static_cast<int>(part.count), in.w};
    };
    for (std::int64_t h = 0; h < in.h; ++h) {
      if (in.channels_last && h + 1 < in.h) fetch_row(row(h + 1));
      std::uint64_t* row_masks = masks + mask_offset(image, part_index) + h * row_words();
      kernels_.pack_row(
          row(h), 0, nullptr, row_masks,
          values + image * image_values() + part.first * in.plane_floats() + h * in.w * part.count * kLanes);
      row_masks[in.w] = kernels_.pairs_pay(row_masks, in.w) ? 1 : 0;
    }
  }

  void run_unit(const SparseRun& run, const std::vector<Part>& channel_parts, std::int64_t g, std::int64_t n0,
                std::int64_t images, const Unit& unit, const float* values,
                const std::uint64_t* masks) const {
    const std::int64_t out_block = unit.out_block;
    const BlockedShape& in = sides_.checked;
    const BlockedShape& out = sides_.other;
    const std::int64_t row0 = unit.band * band_rows_;
    const std::int64_t row1 = std::min(out.h, row0 + band_rows_);
    const auto result = [&](std::int64_t image) {
      return run.out + (n0 + image) * out.image_floats() + g * out.group_floats() +
             out_block * out.block_floats();
    };
    float* const sums = apart_ ? run.workspace + sums_at() + omp_get_thread_num() * sums_floats() : nullptr;
    // Sums of an image, and the row at which they begin.
    const auto plane = [&](std::int64_t image) {
      return sums == nullptr ? result(image) : sums + image * band_floats();
    };
    const std::int64_t first = sums == nullptr ? 0 : row0;
    const std::int64_t step = sums == nullptr ? out.pixel_floats() : kLanes;
    const PlaneRows rows{out.w, step, row0 - first, row1 - first};
    for (std::int64_t image = 0; image < images; ++image)
      fill_rows(plane(image), run.bias + (g * out.blocks() + out_block) * kLanes, rows);
    float* own = run.workspace + image_set_floats() + omp_get_thread_num() * kPartFloats;
    WindowRow job{};
    job.width = in.w;
    job.out_step = step;
    for (std::size_t p = 0; p < channel_parts.size(); ++p) {
      const Part& part = channel_parts[p];
      const WeightPiece piece{g, {out_block, 1}, part.first * kLanes, part.count * kLanes};
      if (run.plain != nullptr) weights_.pack_piece(run.plain, piece, own);
      job.weights = run.plain != nullptr ? own : run.other + weights_.offset(piece);
      const std::int64_t calls = images * std::min(in.h, row1 - row0 + 2);
      const std::int64_t lines = part.count * kLanes * 9;  // as many as this part has
      const float* ahead = fetches_weights_ && run.plain == nullptr ? job.weights + lines * kLanes : nullptr;
      for (std::int64_t image = 0; image < images; ++image) {
        float* base = plane(image);
        const std::uint64_t* image_masks = masks + mask_offset(image, static_cast<std::int64_t>(p));
        const float* image_data = values + image * image_values() + part.first * in.plane_floats();
        for (std::int64_t h = std::max<std::int64_t>(0, row0 - 1); h < std::min(in.h, row1 + 1); ++h) {
          for (std::int64_t r = 0; r < 3; ++r) {
            const std::int64_t oh = h + 1 - r;
            job.out[r] = oh >= row0 && oh < row1 ? base + (oh - first) * out.w * step : nullptr;
          }
          if (ahead != nullptr)
            for (std::int64_t line = 0; line <= lines / calls; ++line, ahead += kLanes)
              __builtin_prefetch(ahead, 0, 2);
          job.masks = image_masks + h * row_words();
          job.values = image_data + h * in.w * part.count * kLanes;
          (job.masks[in.w] != 0 ? kernels_.window_pairs : kernels_.window)(job);
        }
      }
    }
    if (run.relu)
      for (std::int64_t image = 0; image < images; ++image) relu_rows(plane(image), rows);
    if (sums == nullptr) return;
    for (std::int64_t image = 0; image < images; ++image)
      copy_lines(plane(image), (row1 - row0) * out.w, result(image) + row0 * out.w * out.pixel_floats(),
                 out.pixel_floats(), out.floats());
  }

  ChannelParts parts_;
  std::int64_t images_ = 1;
  std::int64_t band_rows_ = 1;
  std::int64_t bands_ = 1;
  // Three rows of 16 outputs of channels-last pixels share so few sets of L1 that it cannot hold them (3x3
  // 512->512 @14x14 took 1.5 times as long): their sums are blocked until they are complete.
  bool apart_ = false;
  bool fetches_weights_ = false;
  bool private_ = false;
  bool in_cache_ = false;
};

bool supports(const KernelConfig& config) {
  return config.options.op != Operation::kWeightGrad && micro_kernels(config.isa).window != nullptr &&
         is_3x3_same(config.shape);
}

}  // namespace

constinit const ConvImplementation kWindowConv = sparse_implementation<WindowConv>(
    "window",
    "3x3, stride 1, padding 1, forward and input_grad: packed non-zeros, all nine taps at once (AVX-512)",
    supports);

}  // namespace lacuna::kernels
