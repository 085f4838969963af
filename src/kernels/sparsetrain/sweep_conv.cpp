// forward and input_grad: for each block of 16 checked channels and each row of the kernel, the rows of the
// checked tensor are swept over the rows of results that they meet.
#include <algorithm>

#include "kernels/sparse/weights.hpp"
#include "kernels/sparsetrain/sparsetrain_conv.hpp"

namespace lacuna::kernels::sparsetrain {
namespace {

// Result pixels of one unit of work: their sums (8 vectors, 400 KB) stay in L2 over all channels and taps, so
// that a block of weights (16 channels x kw taps x 8 vectors, 24 KB for 3x3) is fetched into L1 once for
// them.
constexpr std::int64_t kUnitPixels = 784;

class SweepConv final : public SparseConv {
 public:
  explicit SweepConv(const KernelConfig& config)
      : SparseConv(config, "sparsetrain"),
        map_(config),
        parts_(vector_parts(sides_.other.blocks(), map_.kind)) {
    const BlockedShape& out = sides_.other;
    rows_ = std::clamp<std::int64_t>(kUnitPixels / out.w, 1, out.h);
    if (rows_ == out.h) images_ = std::clamp<std::int64_t>(kUnitPixels / out.pixels(), 1, out.n);
    count_units();
    const auto enough = [this] {
      return image_units_ * row_units_ * static_cast<std::int64_t>(parts_.size()) >= 2 * threads_;
    };
    while (threads_ > 1 && !enough() && (images_ > 1 || rows_ > 1)) {
      std::int64_t& size = images_ > 1 ? images_ : rows_;
      size = (size + 1) / 2;
      count_units();
    }
    const bool rows_meet = map_.kind == kPixel && shape_.kernel.h == 1 && shape_.padding == Size2{0, 0} &&
                           shape_.stride == Size2{1, 1};
    joined_ = rows_meet;
  }

  std::int64_t workspace_floats() const override { return 0; }
  std::int64_t packed_floats() const override {
    return sides_.checked.blocks() * sides_.other.blocks() * shape_.taps() * kLanes * kLanes;
  }

  void pack(const float* oihw, float* packed) override {
    const WeightAccess access(shape_, op_, false);
    const std::int64_t blocks = sides_.checked.blocks();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b)
      for (const Part& part : parts_)
        for (std::int64_t r = 0; r < map_.kernel.h; ++r)
          for (std::int64_t s = 0; s < map_.kernel.w; ++s) {
            const std::int64_t outs = part.count * kLanes;
            access.pack(oihw, 0, b * kLanes, kLanes, part.first * kLanes, outs, map_.plain_tap(r, s),
                        packed + weights_offset(part, b, r) + s * outs, map_.kernel.w * outs);
          }
  }

  void compute(const SparseRun& run) const override {
    const auto parts = static_cast<std::int64_t>(parts_.size());
    const std::int64_t units = image_units_ * row_units_ * parts;
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t unit = 0; unit < units; ++unit)
      run_unit(run, unit / parts / row_units_, unit / parts % row_units_,
               parts_[static_cast<std::size_t>(unit % parts)]);
  }

 private:
  void count_units() {
    image_units_ = (sides_.other.n + images_ - 1) / images_;
    row_units_ = (sides_.other.h + rows_ - 1) / rows_;
  }
  // [part][channel block][kernel row][16 channels][tap of the row][vectors * 16]
  std::int64_t weights_offset(const Part& part, std::int64_t block, std::int64_t r) const {
    const std::int64_t row = kLanes * map_.kernel.w * part.count * kLanes;
    return part.first * kLanes * sides_.checked.blocks() * kLanes * shape_.taps() +
           (block * map_.kernel.h + r) * row;
  }

  void run_unit(const SparseRun& run, std::int64_t image_unit, std::int64_t row_unit,
                const Part& part) const {
    const BlockedShape& out = sides_.other;
    const BlockedShape& in = sides_.checked;
    const Range images{image_unit * images_, std::min(out.n, (image_unit + 1) * images_)};
    const Range rows{row_unit * rows_, std::min(out.h, (row_unit + 1) * rows_)};
    const SweepKernel kernel = kAvx512RowKernels.sweep[map_.kind][choice_of(part.count)];
    const auto plane = [&](std::int64_t n, std::int64_t k) {
      return run.out + n * out.image_floats() + (part.first + k) * out.block_floats();
    };
    const PlaneRows out_rows{out.w, kLanes, rows.begin, rows.end};
    for (std::int64_t n = images.begin; n < images.end; ++n)
      for (std::int64_t k = 0; k < part.count; ++k)
        fill_rows(plane(n, k), run.bias + (part.first + k) * kLanes, out_rows);
    SweepRow job{};
    job.dst_block = out.block_floats();
    job.padding = map_.padding_w;
    for (std::int64_t b = 0; b < in.blocks(); ++b)
      for (std::int64_t r = 0; r < map_.kernel.h; ++r) {
        job.weights = run.other + weights_offset(part, b, r);
        for (std::int64_t n = images.begin; n < images.end; ++n)
          sweep_rows(job, kernel, run.checked + n * in.image_floats() + b * in.block_floats(), plane(n, 0), r,
                     rows);
      }
    if (!run.relu) return;
    for (std::int64_t n = images.begin; n < images.end; ++n)
      for (std::int64_t k = 0; k < part.count; ++k) relu_rows(plane(n, k), out_rows);
  }

  void sweep_rows(SweepRow& job, SweepKernel kernel, const float* in, float* out, std::int64_t r,
                  const Range& rows) const {
    if (joined_) {
      const std::int64_t first = rows.begin * sides_.other.w * kLanes;
      job.src = in + first;
      job.dst = out + first;
      job.src_step = job.dst_step = kLanes;
      job.src_width = (rows.end - rows.begin) * sides_.other.w;
      return kernel(job);
    }
    for (std::int64_t v = rows.begin; v < rows.end; ++v) {
      const std::int64_t u = map_.checked_row(v, r, sides_.checked.h);
      if (u < 0) continue;
      job.src = in + u * sides_.checked.w * kLanes;
      job.dst = out + v * sides_.other.w * kLanes;
      job.src_width = sides_.checked.w;
      job.dst_width = sides_.other.w;
      if (map_.kind == kPixel && !pixels(job)) continue;
      kernel(job);
    }
  }
  // The pixels of the two rows that meet; false: none.
  bool pixels(SweepRow& job) const {
    const Range columns = map_.pixel_columns(shape_);
    const std::int64_t strided = (columns.begin * map_.stride.w - map_.padding.w) * kLanes;
    const std::int64_t other = columns.begin * kLanes;
    job.src += map_.gather ? strided : other;
    job.dst += map_.gather ? other : strided;
    job.src_step = (map_.gather ? map_.stride.w : 1) * kLanes;
    job.dst_step = (map_.gather ? 1 : map_.stride.w) * kLanes;
    job.src_width = columns.end - columns.begin;
    return job.src_width > 0;
  }

  Mapping map_;
  std::vector<Part> parts_;
  bool joined_ = false;  // rows follow one another without a gap: swept as one
  std::int64_t images_ = 1;
  std::int64_t rows_ = 1;
  std::int64_t image_units_ = 1;
  std::int64_t row_units_ = 1;
};

}  // namespace

std::unique_ptr<ConvKernel> make_sweep_conv(const KernelConfig& config) {
  return std::make_unique<SweepConv>(config);
}

}  // namespace lacuna::kernels::sparsetrain
