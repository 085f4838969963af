// forward and input_grad: for each block of 16 checked channels and each row of the kernel, the rows of the
// checked tensor are swept over the rows of results that they meet.

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
    order_weights({WeightOrder::Taps::kRows, false, map_.turned}, parts_);
    units_ = RowUnits(sides_.other, kUnitPixels, static_cast<std::int64_t>(parts_.size()), threads_);
  }

  void compute(const SparseRun& run) const override {
    const auto parts = static_cast<std::int64_t>(parts_.size());
    const std::int64_t units = units_.count() * parts;
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t unit = 0; unit < units; ++unit)
      run_unit(run, units_.at(unit / parts), parts_[static_cast<std::size_t>(unit % parts)]);
  }

 private:
  void run_unit(const SparseRun& run, const RowUnits::Unit& unit, const Part& part) const {
    const BlockedShape& out = sides_.other;
    const BlockedShape& in = sides_.checked;
    const auto& [images, rows] = unit;
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
        job.weights = run.other + weights_.offset({0, part, b * kLanes, 0}) +
                      r * kLanes * map_.kernel.w * part.count * kLanes;
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
    if (map_.joined) {
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
  RowUnits units_;
};

}  // namespace

std::unique_ptr<ConvKernel> make_sweep_conv(const KernelConfig& config) {
  return std::make_unique<SweepConv>(config);
}

}  // namespace lacuna::kernels::sparsetrain
