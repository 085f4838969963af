// forward and input_grad where each pixel of the checked side is used several times: by several parts of the
// outputs, or by several taps. A pre-pass reads it once, from memory, and packs its non-zeros, which stay in
// L2; then each tap is a sum over channels from one pixel to another, as in pixel_conv.
#include <algorithm>
#include <omp.h>

#include "kernels/sparse/tap_sums.hpp"
#include "kernels/sparse/weights.hpp"

namespace lacuna::kernels {
namespace {

class PackedConv final : public TapSums {
 public:
  explicit PackedConv(const KernelConfig& config) : TapSums(config, "packed") {
    parts_ = split_blocks(sides_.checked.blocks(), channel_blocks_in_l1(config.l1_bytes));
    units_ = RowUnits(sides_.other, unit_pixels(), shape_.groups, threads_);
    // Where these are too few, the same pixels are packed once for each of several groups of outputs.
    while (threads_ > 1 && units() < 2 * threads_ &&
           out_groups_ < static_cast<std::int64_t>(out_parts_.size()))
      ++out_groups_;
  }

  // For each thread the values, then masks and offsets, one for each pixel and part.
  std::int64_t workspace_floats() const override { return threads_ * unit_floats(); }

  void compute(const SparseRun& run) const override {
    // Units differ in their zeros: they are handed out one at a time.
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t index = 0; index < units(); ++index) {
      const std::int64_t out_group = index % out_groups_, place = index / out_groups_;
      const auto parts = static_cast<std::int64_t>(out_parts_.size());
      Unit unit{};
      unit.g = place / units_.count();
      unit.images = units_.at(place % units_.count()).images;
      unit.rows = units_.at(place % units_.count()).rows;
      unit.parts = {out_group * parts / out_groups_, (out_group + 1) * parts / out_groups_};
      unit.checked_rows = checked_rows(unit.rows);
      unit.values = run.workspace + omp_get_thread_num() * unit_floats();
      unit.masks = reinterpret_cast<std::uint64_t*>(unit.values + values_floats());
      unit.offsets = reinterpret_cast<std::uint32_t*>(unit.masks + records());
      run_unit(run, unit);
    }
  }

 private:
  struct Unit {
    std::int64_t g;
    Range images, rows, parts, checked_rows;
    float* values;
    std::uint64_t* masks;
    std::uint32_t* offsets;
  };

  std::int64_t units() const { return shape_.groups * units_.count() * out_groups_; }

  // Rows of the checked side that reach `rows` of the result.
  Range checked_rows(const Range& rows) const {
    const std::int64_t stride = shape_.stride.h;
    const std::int64_t padding = shape_.padding.h;
    const std::int64_t reach = (shape_.kernel.h - 1) * shape_.dilation.h;
    const std::int64_t h = sides_.checked.h;
    if (op_ == Operation::kForward) {
      const std::int64_t begin = std::clamp<std::int64_t>(rows.begin * stride - padding, 0, h);
      return {begin, std::clamp((rows.end - 1) * stride - padding + reach + 1, begin, h)};
    }
    const std::int64_t first = std::max<std::int64_t>(0, rows.begin + padding - reach);
    const std::int64_t begin = std::min(h, (first + stride - 1) / stride);
    return {begin, std::clamp((rows.end - 1 + padding) / stride + 1, begin, h)};
  }
  // One tap with a stride reads only some of the pixels, and only those are packed: as many as results.
  bool packs_result_pixels() const { return one_tap_ && op_ == Operation::kForward; }
  std::int64_t image_pixels(const Unit& unit) const {
    return packs_result_pixels() ? (unit.rows.end - unit.rows.begin) * sides_.other.w
                                 : (unit.checked_rows.end - unit.checked_rows.begin) * sides_.checked.w;
  }
  std::int64_t most_pixels() const {
    if (packs_result_pixels()) return units_.images() * units_.rows() * sides_.other.w;
    const std::int64_t reach = (shape_.kernel.h - 1) * shape_.dilation.h + 1;
    const std::int64_t rows = op_ == Operation::kForward ? (units_.rows() - 1) * shape_.stride.h + reach
                                                         : (units_.rows() + reach) / shape_.stride.h + 2;
    return units_.images() * std::min(sides_.checked.h, rows) * sides_.checked.w;
  }
  std::int64_t values_floats() const { return most_pixels() * sides_.checked.blocks() * kLanes + kLanes; }
  std::int64_t records() const {
    return round_up(most_pixels() * static_cast<std::int64_t>(parts_.size()), kLanes);
  }
  std::int64_t unit_floats() const { return round_up(values_floats() + 3 * records(), kLanes); }

  std::int64_t record(const Unit& unit, std::int64_t part, std::int64_t image) const {
    return (part * (unit.images.end - unit.images.begin) + image) * image_pixels(unit);
  }

  void pack_unit(const SparseRun& run, const Unit& unit) const {
    const BlockedShape& in = sides_.checked;
    std::uint32_t offset = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const Part& part = parts_[p];
      PixelRow row{};
      row.blocks = static_cast<int>(part.count);
      row.src_block = in.block_floats();
      auto pack_row = [&](const float* src, std::int64_t step, std::int64_t width, std::int64_t record) {
        // Channels-last pixels are fetched a few ahead of those that are packed.
        const std::int64_t most = in.channels_last ? kPixelsAhead : width;
        row.src_step = step;
        for (std::int64_t done = 0; done < width; done += row.width, record += row.width) {
          row.src = src + done * step;
          row.width = std::min(most, width - done);
          if (in.channels_last) {
            PixelRow next = row;
            next.src += most * step;
            next.width = std::clamp<std::int64_t>(width - done - most, 0, most);
            fetch_row(next);
          }
          offset = kernels_.pack_row(row, offset, unit.offsets + record, unit.masks + record, unit.values);
        }
      };
      auto plane = [&](std::int64_t n) {
        return run.checked + n * in.image_floats() + unit.g * in.group_floats() +
               part.first * in.block_floats();
      };
      const auto index = static_cast<std::int64_t>(p);
      if (one_pixel_) {
        pack_row(plane(unit.images.begin), in.image_floats(), unit.images.end - unit.images.begin,
                 record(unit, index, 0));
        continue;
      }
      for (std::int64_t n = unit.images.begin; n < unit.images.end; ++n) {
        const std::int64_t first = record(unit, index, n - unit.images.begin);
        if (!packs_result_pixels() || rows_follow(shape_)) {
          pack_row(plane(n) + unit.checked_rows.begin * in.w * in.pixel_floats(), in.pixel_floats(),
                   image_pixels(unit), first);
          continue;
        }
        const std::int64_t width = sides_.other.w;
        for (std::int64_t h = unit.rows.begin; h < unit.rows.end; ++h)
          pack_row(plane(n) + h * shape_.stride.h * in.w * in.pixel_floats(),
                   shape_.stride.w * in.pixel_floats(), width, first + (h - unit.rows.begin) * width);
      }
    }
  }

  void run_unit(const SparseRun& run, const Unit& unit) const {
    pack_unit(run, unit);
    const BlockedShape& out = sides_.other;
    for (std::int64_t o = unit.parts.begin; o < unit.parts.end; ++o) {
      const Part& part = out_parts_[static_cast<std::size_t>(o)];
      const float* bias = run.bias + (unit.g * out.blocks() + part.first) * kLanes;
      auto out_at = [&](std::int64_t n) {
        return run.out + n * out.image_floats() + unit.g * out.group_floats() +
               part.first * out.block_floats();
      };
      if (!starts_sums_)
        for (std::int64_t n = unit.images.begin; n < unit.images.end; ++n)
          fill(out_at(n), bias, part, unit.rows);
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        const Part& channels = parts_[p];
        PackedRun job{};
        job.values = unit.values;
        job.dst_block = out.block_floats();
        job.init = starts_sums_ && channels.first == 0 ? bias : nullptr;
        for (std::int64_t tap = 0; tap < shape_.taps(); ++tap) {
          job.weights = run.other + weights_at(unit.g, part, tap, channels.first);
          const std::int64_t images = one_pixel_ ? 1 : unit.images.end - unit.images.begin;
          for (std::int64_t i = 0; i < images; ++i)
            run_tap(job, part.count, unit, record(unit, static_cast<std::int64_t>(p), i),
                    out_at(unit.images.begin + i), tap);
        }
      }
      if (run.relu)
        for (std::int64_t n = unit.images.begin; n < unit.images.end; ++n) relu(out_at(n), part, unit.rows);
    }
  }

  void run_tap(PackedRun& job, std::int64_t vectors, const Unit& unit, std::int64_t first, float* out,
               std::int64_t tap) const {
    const PackedKernel kernel = kernels_.packed[static_cast<std::size_t>(vectors)];
    const std::int64_t out_step = sides_.other.pixel_floats();
    each_tap_run(shape_, op_, tap, unit.rows, [&](const TapRun& run) {
      std::int64_t record = first + run.checked - unit.checked_rows.begin * sides_.checked.w;
      job.step = run.checked_step;
      if (packs_result_pixels()) {
        record = first + run.result - unit.rows.begin * sides_.other.w;
        job.step = 1;
      }
      job.masks = unit.masks + record;
      job.offsets = unit.offsets + record;
      job.dst = out + run.result * out_step;
      job.dst_step = run.result_step * out_step;
      job.count = run.count;
      if (one_pixel_) {  // a run of images, whose records follow one another whatever the stride
        job.step = 1;
        job.dst_step = sides_.other.image_floats();
        job.count = unit.images.end - unit.images.begin;
      }
      kernel(job);
    });
  }

  static constexpr std::int64_t kPixelsAhead = 14;
  std::vector<Part> parts_;
  RowUnits units_;
  std::int64_t out_groups_ = 1;
};

bool supports(const KernelConfig& config) {
  const MicroKernels& kernels = micro_kernels(config.isa);
  if (config.options.op == Operation::kWeightGrad || kernels.pack_row == nullptr) return false;
  // Number of times that a pixel is used. Packing pays from eight times on (1x1, 512 to 2,048 channels,
  // 7x7: 1.1x at half, 1.25x at 90 % zeros; with 256 or 512 outputs up to 1.1x slower). With a stride twice
  // is enough: pixels far apart come late from memory (1x1, 1,024 to 2,048, 14x14, stride 2: 1.3x at
  // half, 1.7x at 90 % zeros).
  const Sides sides(config);
  const std::int64_t parts = (sides.other.blocks() + kernels.pixel_vectors - 1) / kernels.pixel_vectors;
  const LayerShape& shape = config.shape;
  const std::int64_t strides = shape.stride.h * shape.stride.w;
  const std::int64_t taps = config.options.op == Operation::kForward ? shape.taps() / strides : shape.taps();
  return parts * std::max<std::int64_t>(1, taps) >= (strides > 1 ? 2 : 8);
}

}  // namespace

constinit const ConvImplementation kPackedConv = sparse_implementation<PackedConv>(
    "packed", "forward and input_grad where pixels are used several times: packed non-zeros (AVX-512)",
    supports);

}  // namespace lacuna::kernels
