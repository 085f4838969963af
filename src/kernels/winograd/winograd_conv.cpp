#include "kernels/winograd/winograd_conv.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/layout/scratchpad.hpp"

namespace lacuna::kernels {

WinogradBase::WinogradBase(const KernelConfig& config, bool turned)
    : SparseConv(config, "winograd4x4"),
      loops_(winograd_loops(config.isa)),
      channels_(sides_.checked.blocks() * kLanes),
      weight_elements_(sides_.other.blocks(), channels_) {
  std::vector<Part> parts;
  for (std::int64_t first = 0; first < sides_.other.blocks(); first += loops_.product_blocks)
    parts.push_back({first, std::min<std::int64_t>(loops_.product_blocks, sides_.other.blocks() - first)});
  order_weights({WeightOrder::Taps::kInside, turned, turned}, std::move(parts));
}

float* WinogradBase::elements() const {
  return static_cast<float*>(scratchpad(static_cast<std::size_t>(elements_floats()) * sizeof(float)));
}

void WinogradBase::each_tap(void (*transform)(const WeightTaps&), float* taps, float* elements) const {
  const std::vector<Part>& parts = weights_.parts();
#pragma omp for collapse(2) schedule(static)
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      const std::int64_t outs = parts[p].count * kLanes;
      for (std::int64_t lane = 0; lane < outs; lane += kLanes)
        transform({.taps = taps + 9 * part_offset(parts[p]) + channel * 9 * outs + lane,
                   .tap = outs,
                   .elements = elements + part_offset(parts[p]) + channel * outs + lane,
                   .element = weight_elements_.element});
    }
}

namespace {

constexpr std::int64_t kFewTiles = 56;
constexpr std::int64_t kLeastTiles =
    28;  // of a thread; with fewer, threads share tiles and split the outputs

// Forward and input_grad, which is forward from diff_dst to diff_src with turned weights.
class WinogradConv final : public WinogradBase {
 public:
  explicit WinogradConv(const KernelConfig& config);
  std::int64_t elements_floats() const override {
    return weight_elements_.floats() + units() * (inputs_.floats() + sums_.floats());
  }
  void compute(const SparseRun& run) const override;

 private:
  std::int64_t units() const { return ranges_ * columns_; }
  void run_range(const SparseRun& run, const float* weights, float* scratch, const TileRange& tiles,
                 const TileRange& parts) const;
  void multiply(const float* weights, const float* inputs, float* sums, std::int64_t tiles,
                const TileRange& parts) const;
  void write_tiles(const SparseRun& run, const float* sums, const TileRange& tiles,
                   const TileRange& blocks) const;

  TileGrid grid_;
  TileTensor from_, to_;
  std::int64_t ranges_, columns_;  // of tiles and of parts of the outputs
  std::int64_t at_once_;
  TileElements inputs_, sums_;
};

Size2 padding_of(const LayerShape& shape, Operation op) {
  if (op == Operation::kForward) return shape.padding;
  return {shape.kernel.h - 1 - shape.padding.h, shape.kernel.w - 1 - shape.padding.w};
}

WinogradConv::WinogradConv(const KernelConfig& config)
    : WinogradBase(config, config.options.op == Operation::kInputGrad),
      grid_(sides_.other),
      from_(sides_.checked, padding_of(shape_, op_), kWindowSize),
      to_(sides_.other, {0, 0}, kTileSize),
      ranges_(std::clamp<std::int64_t>(grid_.count() / kLeastTiles, 1, threads_)),
      columns_(std::clamp<std::int64_t>(threads_ / ranges_, 1,
                                        static_cast<std::int64_t>(weights_.parts().size()))) {
  const std::int64_t blocks = from_.blocks() + to_.blocks();
  at_once_ =
      std::min(tiles_at_once(kFewTiles, weight_elements_.floats(), kElements * kLanes * blocks, threads_),
               (grid_.count() + ranges_ - 1) / ranges_);
  inputs_ = TileElements(from_.blocks(), at_once_);
  sums_ = TileElements(to_.blocks(), at_once_);
}

void WinogradConv::compute(const SparseRun& run) const {
  float* const weights = elements();
#pragma omp parallel num_threads(threads_)
  {
    each_tap(loops_.expand_weights, const_cast<float*>(run.other), weights);
#pragma omp for schedule(static)
    for (std::int64_t unit = 0; unit < units(); ++unit) {
      float* const scratch = weights + weight_elements_.floats() + unit * (inputs_.floats() + sums_.floats());
      run_range(
          run, weights, scratch, even_range(grid_.all(), unit / columns_, ranges_),
          even_range({0, static_cast<std::int64_t>(weights_.parts().size())}, unit % columns_, columns_));
    }
  }
}

void WinogradConv::run_range(const SparseRun& run, const float* weights, float* scratch,
                             const TileRange& tiles, const TileRange& parts) const {
  float* const sums = scratch + inputs_.floats();
  const auto part = [&](std::int64_t index) { return weights_.parts()[static_cast<std::size_t>(index)]; };
  const TileRange blocks{part(parts.begin).first, part(parts.end - 1).first + part(parts.end - 1).count};
  for (std::int64_t begin = tiles.begin; begin < tiles.end; begin += at_once_) {
    const TileRange some{begin, std::min(begin + at_once_, tiles.end)};
    read_tiles(loops_.read_input, grid_, from_, run.checked, some, inputs_, begin, scratch);
    multiply(weights, scratch, sums, some.count(), parts);
    write_tiles(run, sums, some, blocks);
  }
}

void WinogradConv::multiply(const float* weights, const float* inputs, float* sums, std::int64_t tiles,
                            const TileRange& parts) const {
  const std::int64_t groups = (tiles + loops_.product_tiles - 1) / loops_.product_tiles;
  for (std::int64_t element = 0; element < kElements; ++element)
    for (std::int64_t p = parts.begin; p < parts.end; ++p) {
      const Part& part = weights_.parts()[static_cast<std::size_t>(p)];
      for (std::int64_t group = 0; group < groups; ++group) {
        const TileRange some = even_range({0, tiles}, group, groups);
        const bool last = group + 1 == groups;
        const std::int64_t next_element = element + (last && p + 1 == parts.end && element + 1 < kElements);
        loops_.multiply[part.count - 1][some.count() - 1](
            {.src = inputs + element * inputs_.element + some.begin * kLanes,
             .src_block = inputs_.block,
             .blocks = from_.blocks(),
             .weights = weights + element * weight_elements_.element + part_offset(part),
             .sums = sums + element * sums_.element + part.first * sums_.block + some.begin * kLanes,
             .sums_block = sums_.block,
             .next = inputs + next_element * inputs_.element + (last ? 0 : some.end) * kLanes});
      }
    }
}

void WinogradConv::write_tiles(const SparseRun& run, const float* sums, const TileRange& tiles,
                               const TileRange& blocks) const {
  for (std::int64_t block = blocks.begin; block < blocks.end; ++block)
    each_tile(grid_, tiles, [&](std::int64_t tile, const TilePlace& place, const TilePlace& later) {
      const TileTensor::Ahead ahead = to_.ahead(later, block);
      loops_.write_result({.from = sums + block * sums_.block + (tile - tiles.begin) * kLanes,
                           .element = sums_.element,
                           .at = run.out + to_.offset(place, block),
                           .pixels = to_.pixels(place),
                           .ahead = run.out + ahead.offset,
                           .ahead_rows = ahead.rows,
                           .ahead_columns = ahead.columns,
                           .bias = run.bias + block * kLanes,
                           .relu = run.relu});
    });
}

bool supports_winograd(const KernelConfig& config) {
  const LayerShape& s = config.shape;
  return s.kind == LayerKind::kConv2d && s.groups == 1 && s.kernel == Size2{3, 3} &&
         s.stride == Size2{1, 1} && s.dilation == Size2{1, 1};
}

std::unique_ptr<WinogradBase> make_without_memory(const KernelConfig& config) {
  if (config.weight_grad()) return make_winograd_weight_grad(config);
  return std::make_unique<WinogradConv>(config);
}

std::unique_ptr<ConvKernel> make_winograd(const KernelConfig& config) {
  auto kernel = make_without_memory(config);
  // Allocated here, so that run() of this thread allocates nothing.
  scratchpad(static_cast<std::size_t>(kernel->elements_floats()) * sizeof(float));
  return kernel;
}

}  // namespace

std::size_t winograd_scratchpad_bytes(const LayerShape& shape, const ConvOptions& options) {
  const KernelConfig config(shape, options);
  if (!supports_winograd(config)) return 0;
  return static_cast<std::size_t>(make_without_memory(config)->elements_floats()) * sizeof(float);
}

const ConvImplementation kWinograd4x4{
    .name = "winograd4x4",
    .description = "Winograd, 4x4 pixels at a time: 3x3, stride 1, larger rounding errors",
    .form = TensorForm::kBlockedOrChannelsLast,
    .supports = supports_winograd,
    .make = make_winograd,
    .may_choose = [](const ConvOptions& options) { return options.allow_winograd; }};

}  // namespace lacuna::kernels
