// weight_grad: the checked tensor is laid out with 16 images in a vector, one channel at a time, so that the
// sums of one channel (kw taps x 8 vectors of the other tensor) stay in registers over a row.
#include <algorithm>
#include <array>
#include <cstring>
#include <omp.h>

#include "kernels/sparse/weights.hpp"
#include "kernels/sparsetrain/sparsetrain_conv.hpp"

namespace lacuna::kernels::sparsetrain {
namespace {

class WeightGrad final : public SparseConv {
 public:
  explicit WeightGrad(const KernelConfig& config)
      : SparseConv(config, "sparsetrain"),
        map_(config),
        parts_(vector_parts(sides_.other.blocks(), map_.kind)),
        chunks_(thread_chunks(sides_.checked.blocks(), static_cast<std::int64_t>(parts_.size()), threads_)),
        groups_((sides_.checked.n + kLanes - 1) / kLanes) {
    order_weights({WeightOrder::Taps::kInside, false, map_.turned}, parts_);
    find_segments();
    for (const Segment& segment : segments_)
      tile_floats_ = std::max(tile_floats_, segment.other_width * kLanes * parts_.front().count * kLanes);
  }

  std::int64_t workspace_floats() const override { return images_floats() + threads_ * tile_floats_; }
  void compute(const SparseRun& run) const override {
    lay_out_images(run.checked, run.workspace);
    const auto chunks = static_cast<std::int64_t>(chunks_.size());
    const std::int64_t units = chunks * static_cast<std::int64_t>(parts_.size());
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t unit = 0; unit < units; ++unit)
      run_unit(run, parts_[static_cast<std::size_t>(unit / chunks)],
               chunks_[static_cast<std::size_t>(unit % chunks)],
               run.workspace + images_floats() + omp_get_thread_num() * tile_floats_);
  }

 private:
  static constexpr std::int64_t kJoinedPixels = 56;  // 28: 10 % slower

  // [16 images][channel][h][w][image]
  std::int64_t images_floats() const { return groups_ * kLanes * sides_.checked.image_floats(); }

  // The layout that the authors have for this operation. A vector that the batch does not fill ends in zeros.
  void lay_out_images(const float* checked, float* out) const {
    const BlockedShape& in = sides_.checked;
    std::array<std::ptrdiff_t, kLanes> images{};
    for (int i = 0; i < kLanes; ++i) images[static_cast<std::size_t>(i)] = i * in.image_floats();
#pragma omp parallel for num_threads(threads_) schedule(static) collapse(2)
    for (std::int64_t g = 0; g < groups_; ++g)
      for (std::int64_t b = 0; b < in.blocks(); ++b) {
        const std::int64_t first = g * kLanes;
        const int count = static_cast<int>(std::min<std::int64_t>(kLanes, in.n - first));
        const float* from = checked + first * in.image_floats() + b * in.block_floats();
        float* to = out + (first * in.blocks() + b * kLanes) * in.block_floats();
        for (std::int64_t p = 0; p < in.pixels(); ++p)
          kernels_.transpose(from + p * kLanes, images.data(), count, to + p * kLanes, in.block_floats());
      }
  }

  void run_unit(const SparseRun& run, const Part& part, const Part& chunk, float* tile) const {
    const BlockedShape& in = sides_.checked;
    const BlockedShape& other = sides_.other;
    const Range channels{chunk.first * kLanes, (chunk.first + chunk.count) * kLanes};
    const WeightKernel kernel = kAvx512RowKernels.weight[map_.kind][choice_of(part.count)];
    const std::int64_t row_sums = map_.kernel.w * part.count * kLanes;
    float* dw = run.out + weights_.offset({0, part, channels.begin, 0});
    std::fill(dw, run.out + weights_.offset({0, part, channels.end, 0}), 0.0F);
    for (std::int64_t g = 0; g < groups_; ++g) {
      const std::int64_t images = std::min<std::int64_t>(kLanes, in.n - g * kLanes);
      const float* dense = run.other + g * kLanes * other.image_floats() + part.first * other.block_floats();
      for (const Segment& segment : segments_) {
        copy_row(dense + segment.other * kLanes, images, part.count, segment.other_width, tile);
        WeightRow job{};
        job.dense = tile;
        job.padding = map_.padding_w;
        job.dense_width = segment.other_width;
        job.checked_width = segment.checked_width;
        if (map_.kind == kPixel) pixels(job, part.count);
        if (job.checked_width <= 0) continue;
        for (std::int64_t c = channels.begin; c < channels.end; ++c) {
          const float* plane =
              run.workspace + (g * kLanes * in.blocks() + c) * in.block_floats() + column_offset();
          for (std::int64_t r = 0; r < map_.kernel.h; ++r) {
            const std::int64_t u = segment.checked[static_cast<std::size_t>(r)];
            if (u < 0) continue;
            job.checked = plane + u * kLanes;
            job.dw = dw + ((c - channels.begin) * map_.kernel.h + r) * row_sums;
            kernel(job);
          }
        }
      }
    }
  }

  // A row of the other tensor, images and channels side by side: [column][16 images][vectors * 16]. The
  // description says nothing of this operand. Read from its planes, 128 rows that often lie a multiple of 4
  // KB apart (56x56 and larger) and compete for the same sets of L1, 256->256 56x56 at 0 / 50 / 90 % zeros
  // runs at 0.42 / 0.80 / 3.23x of oneDNN direct.
  void copy_row(const float* from, std::int64_t images, std::int64_t vectors, std::int64_t width,
                float* to) const {
    const BlockedShape& other = sides_.other;
    for (std::int64_t i = 0; i < images; ++i)
      for (std::int64_t k = 0; k < vectors; ++k) {
        const float* row = from + i * other.image_floats() + k * other.block_floats();
        float* out = to + (i * vectors + k) * kLanes;
        for (std::int64_t v = 0; v < width; ++v)
          std::memcpy(out + v * kLanes * vectors * kLanes, row + v * kLanes, kLanes * sizeof(float));
      }
  }

  // Offset of the first checked column that meets a tap of a strided or padded 1x1 kernel.
  std::int64_t column_offset() const {
    if (map_.kind != kPixel) return 0;
    const Range columns = map_.pixel_columns(shape_);
    return (map_.gather ? columns.begin * map_.stride.w - map_.padding.w : columns.begin) * kLanes;
  }
  void pixels(WeightRow& job, std::int64_t vectors) const {
    if (map_.joined) {
      job.checked_step = job.dense_step = 1;
      return;
    }
    const Range columns = map_.pixel_columns(shape_);
    const std::int64_t first = map_.gather ? columns.begin : columns.begin * map_.stride.w - map_.padding.w;
    job.dense += first * kLanes * vectors * kLanes;
    job.checked_step = map_.gather ? map_.stride.w : 1;
    job.dense_step = map_.gather ? 1 : map_.stride.w;
    job.checked_width = columns.end - columns.begin;
  }

  void find_segments() {
    const BlockedShape& other = sides_.other;
    if (map_.joined) {
      // Rows of 1x1 kernels follow one another: taken together where they are short.
      for (std::int64_t p = 0; p < other.pixels(); p += kJoinedPixels) {
        const std::int64_t width = std::min(kJoinedPixels, other.pixels() - p);
        segments_.push_back({p, width, width, {p}});
      }
      return;
    }
    for (std::int64_t v = 0; v < other.h; ++v) {
      Segment segment{v * other.w, other.w, sides_.checked.w, {}};
      for (std::int64_t r = 0; r < map_.kernel.h; ++r) {
        const std::int64_t u = map_.checked_row(v, r, sides_.checked.h);
        segment.checked.push_back(u < 0 ? -1 : u * sides_.checked.w);
      }
      segments_.push_back(segment);
    }
  }

  // Range of a sweep: a row of the other tensor and the checked rows that meet it.
  struct Segment {
    std::int64_t other;  // first pixel
    std::int64_t other_width;
    std::int64_t checked_width;
    std::vector<std::int64_t> checked;  // first pixel by kernel row; -1: none
  };

  Mapping map_;
  std::vector<Part> parts_;
  std::vector<Part> chunks_;
  std::int64_t groups_;  // of 16 images
  std::vector<Segment> segments_;
  std::int64_t tile_floats_ = 0;
};

}  // namespace

std::unique_ptr<ConvKernel> make_weight_grad(const KernelConfig& config) {
  return std::make_unique<WeightGrad>(config);
}

}  // namespace lacuna::kernels::sparsetrain
