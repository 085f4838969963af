// forward and input_grad of any convolution: each tap is a sum over channels from one pixel to another, done
// by the pixel kernel over runs of pixels. 1x1 convolutions and linear layers are the case of one tap.
#include <algorithm>
#include <cstring>

#include "kernels/sparse/tap_runs.hpp"
#include "kernels/sparse/tap_sums.hpp"
#include "kernels/sparse/weights.hpp"

namespace lacuna::kernels {
namespace {

class PixelConv final : public TapSums {
 public:
  explicit PixelConv(const KernelConfig& config) : TapSums(config, "pixel") {
    parts_ = ChannelParts(sides_.checked.blocks(), channel_blocks_in_l1(config.l1_bytes));
    const BlockedShape& out = sides_.other;
    if (one_pixel_) {
      images_ = std::min(out.n, unit_pixels());
      rows_ = 1;
    } else if (out.pixels() >= unit_pixels()) {
      images_ = 1;
      rows_ = std::max<std::int64_t>(1, unit_pixels() / out.w);
    } else {
      images_ = std::min(out.n, std::max<std::int64_t>(1, unit_pixels() / out.pixels()));
      rows_ = out.h;
    }
    count_units();
    // Enough of them for all threads: first fewer images each, then fewer rows.
    const auto enough = [this] {
      return shape_.groups * image_units_ * row_units_ * static_cast<std::int64_t>(out_parts_.size()) >=
             2 * threads_;
    };
    while (threads_ > 1 && !enough() && images_ > 1) {
      images_ = (images_ + 1) / 2;
      count_units();
    }
    while (threads_ > 1 && !enough() && rows_ > 1) {
      rows_ = (rows_ + 1) / 2;
      count_units();
    }
    const BlockedShape& in = sides_.checked;
    if (const std::int64_t distance = pixels_ahead(); distance > 0)
      for (std::int64_t pixel = 0; pixel < rows_ * out.w; ++pixel)
        for (std::int64_t block = 0; block < kMaxMaskBlocks; ++block)
          ahead_.push_back((pixel + distance) * in.pixel_floats() + block * in.block_floats());
  }

  std::int64_t workspace_floats() const override { return 0; }

  void compute(const SparseRun& run) const override {
    const auto parts = static_cast<std::int64_t>(out_parts_.size());
    const std::vector<Part>& channel_parts = parts_.choose(run.checked, sides_.checked.floats());
    const std::int64_t units = shape_.groups * image_units_ * row_units_ * parts;
    // Units differ in their zeros: they are handed out one at a time.
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t unit = 0; unit < units; ++unit) {
      const std::int64_t part = unit % parts;
      const std::int64_t row = unit / parts % row_units_;
      const std::int64_t image = unit / parts / row_units_ % image_units_;
      run_unit(run, channel_parts, unit / parts / row_units_ / image_units_, image, row,
               out_parts_[static_cast<std::size_t>(part)]);
    }
  }

 private:
  void count_units() {
    image_units_ = (sides_.other.n + images_ - 1) / images_;
    row_units_ = (sides_.other.h + rows_ - 1) / rows_;
  }

  void run_unit(const SparseRun& run, const std::vector<Part>& channel_parts, std::int64_t g,
                std::int64_t image_unit, std::int64_t row_unit, const Part& part) const {
    const BlockedShape& out = sides_.other;
    const BlockedShape& in = sides_.checked;
    const std::int64_t n0 = image_unit * images_;
    const std::int64_t n1 = std::min(out.n, n0 + images_);
    const Range rows{row_unit * rows_, std::min(out.h, (row_unit + 1) * rows_)};
    const float* bias = run.bias + (g * out.blocks() + part.first) * kLanes;
    auto out_at = [&](std::int64_t n) {
      return run.out + n * out.image_floats() + g * out.group_floats() + part.first * out.block_floats();
    };
    if (!starts_sums_)
      for (std::int64_t n = n0; n < n1; ++n) fill(out_at(n), bias, part, rows);
    for (const Part& channels : channel_parts) {
      PixelRun job{};
      job.src_block = in.block_floats();
      job.dst_block = out.block_floats();
      const bool begins = starts_sums_ && channels.first == 0;
      job.results_ahead = begins && out.channels_last ? kResultsAhead * out.pixel_floats() : 0;
      job.init = begins ? bias : nullptr;
      const PixelKernel kernel =
          kernels_.pixel[static_cast<std::size_t>(part.count)][static_cast<std::size_t>(channels.count)];
      for (std::int64_t tap = 0; tap < shape_.taps(); ++tap) {
        job.weights =
            run.other + weights_offset(g, part, tap) + channels.first * kLanes * part.count * kLanes;
        if (one_pixel_) {
          job.src = in_at(run, n0, g, channels);
          job.src_step = in.image_floats();
          job.dst = out_at(n0);
          job.dst_step = out.image_floats();
          job.count = n1 - n0;
          if (one_pixel_in_range(tap)) kernel(job);
          continue;
        }
        for (std::int64_t n = n0; n < n1; ++n)
          run_tap(job, kernel, in_at(run, n, g, channels), out_at(n), tap, rows);
      }
    }
    if (run.relu)
      for (std::int64_t n = n0; n < n1; ++n) relu(out_at(n), part, rows);
  }

  const float* in_at(const SparseRun& run, std::int64_t n, std::int64_t g, const Part& channels) const {
    const BlockedShape& in = sides_.checked;
    return run.checked + n * in.image_floats() + g * in.group_floats() + channels.first * in.block_floats();
  }

  // A padded kernel over a single pixel: only the tap that meets it.
  bool one_pixel_in_range(std::int64_t tap) const {
    return tap / shape_.kernel.w * shape_.dilation.h == shape_.padding.h &&
           tap % shape_.kernel.w * shape_.dilation.w == shape_.padding.w;
  }

  void run_tap(PixelRun& job, PixelKernel kernel, const float* in, float* out, std::int64_t tap,
               const Range& rows) const {
    const std::int64_t in_step = sides_.checked.pixel_floats();
    const std::int64_t out_step = sides_.other.pixel_floats();
    each_tap_run(shape_, op_, tap, rows, [&](const TapRun& run) {
      job.src = in + run.checked * in_step;
      job.dst = out + run.result * out_step;
      job.src_step = run.checked_step * in_step;
      job.dst_step = run.result_step * out_step;
      job.count = run.count;
      if (!ahead_.empty()) job.ahead = job.src, job.ahead_offsets = ahead_.data();
      kernel(job);
    });
  }

  // Prefetch distance in pixels; 0: none. The hardware does not prefetch pixels of channels-last tensors: one
  // at a time from memory, 1x1 128->512 @28x28 took 2.2 times as long as on blocked ones (input_grad). Of
  // blocked ones it is late where each is read only once or twice: 512->128
  // @28x28 is 8 % faster with this at 50 to 90 % zeros, 56x56 1 to 2 % (Zen 4); read more often, or at 7x7,
  // it costs up to 5 %.
  std::int64_t pixels_ahead() const {
    constexpr std::int64_t kSmallImage = 14 * 14;
    if (!rows_follow(shape_)) return 0;
    if (sides_.checked.channels_last) return 8;
    return out_parts_.size() <= 2 && sides_.other.pixels() >= kSmallImage ? 16 : 0;
  }

  // Nor does it fetch lines of channels-last results before they are written: 128->512 @28x28 forward ran at
  // 0.85 of the blocked speed, with this at 0.93 (Zen 4).
  static constexpr std::int64_t kResultsAhead = 4;

  std::vector<std::ptrdiff_t> ahead_;
  ChannelParts parts_;
  std::int64_t images_ = 1;
  std::int64_t rows_ = 1;
  std::int64_t image_units_ = 1;
  std::int64_t row_units_ = 1;
};

bool supports(const KernelConfig& config) { return config.options.op != Operation::kWeightGrad; }

}  // namespace

constinit const ConvImplementation kPixelConv =
    sparse_implementation<PixelConv>("pixel", "forward and input_grad of any convolution", supports);

}  // namespace lacuna::kernels
