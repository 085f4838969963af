// forward and input_grad of any convolution: each tap is a sum over channels from one pixel to another, done
// by the pixel kernel over runs of pixels. 1x1 convolutions and linear layers are the case of one tap.

#include "kernels/sparse/tap_sums.hpp"
#include "kernels/sparse/weights.hpp"

namespace lacuna::kernels {
namespace {

class PixelConv final : public TapSums {
 public:
  explicit PixelConv(const KernelConfig& config) : TapSums(config, "pixel") {
    parts_ = ChannelParts(sides_.checked.blocks(), channel_blocks_in_l1(config.l1_bytes));
    units_ = RowUnits(sides_.other, unit_pixels(),
                      shape_.groups * static_cast<std::int64_t>(out_parts_.size()), threads_);
    const BlockedShape& in = sides_.checked;
    if (const std::int64_t distance = pixels_ahead(); distance > 0)
      for (std::int64_t pixel = 0; pixel < units_.rows() * sides_.other.w; ++pixel)
        for (std::int64_t block = 0; block < kMaxMaskBlocks; ++block)
          ahead_.push_back((pixel + distance) * in.pixel_floats() + block * in.block_floats());
  }

  void compute(const SparseRun& run) const override {
    const auto parts = static_cast<std::int64_t>(out_parts_.size());
    const std::vector<Part>& channel_parts = parts_.choose(run.checked, sides_.checked.floats());
    const std::int64_t units = shape_.groups * units_.count() * parts;
    // Units differ in their zeros: they are handed out one at a time.
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t unit = 0; unit < units; ++unit) {
      run_unit(run, channel_parts, unit / parts / units_.count(), units_.at(unit / parts % units_.count()),
               out_parts_[static_cast<std::size_t>(unit % parts)]);
    }
  }

 private:
  void run_unit(const SparseRun& run, const std::vector<Part>& channel_parts, std::int64_t g,
                const RowUnits::Unit& unit, const Part& part) const {
    const BlockedShape& out = sides_.other;
    const BlockedShape& in = sides_.checked;
    const auto [n0, n1] = unit.images;
    const Range& rows = unit.rows;
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
        job.weights = run.other + weights_at(g, part, tap, channels.first);
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
  RowUnits units_;
};

bool supports(const KernelConfig& config) { return config.options.op != Operation::kWeightGrad; }

}  // namespace

constinit const ConvImplementation kPixelConv =
    sparse_implementation<PixelConv>("pixel", "forward and input_grad of any convolution", supports);

}  // namespace lacuna::kernels
