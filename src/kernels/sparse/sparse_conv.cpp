#include "kernels/sparse/sparse_conv.hpp"

#include <algorithm>

#include "kernels/choice/sampled_zeros.hpp"

namespace lacuna::kernels {

const MicroKernels& micro_kernels(Isa isa) {
  return LACUNA_OF_ISA(isa, kPortableKernels, kAvx2Kernels, kAvx512Kernels);
}

std::vector<Part> thread_chunks(std::int64_t blocks, std::int64_t others, int threads, std::int64_t most) {
  constexpr std::int64_t kLeast = 4;
  const std::int64_t wanted = threads == 1 ? 1 : (threads + others - 1) / others;
  const std::int64_t each = std::max((blocks + wanted - 1) / wanted, std::min(kLeast, blocks));
  return split_blocks(blocks, std::min(each, std::max(most, kLeast)));
}

ChannelParts::ChannelParts(std::int64_t blocks, std::int64_t in_l1)
    : in_l1_(split_blocks(blocks, in_l1)), longest_(split_blocks(blocks, kMaxMaskBlocks)) {}

const std::vector<Part>& ChannelParts::choose(const float* checked, std::int64_t floats) const {
  if (in_l1_.size() == longest_.size()) return longest_;
  constexpr double kManyZeros = 0.45;
  return sample_zeros(checked, floats) > kManyZeros ? longest_ : in_l1_;
}

std::int64_t ChannelParts::most() const {
  return static_cast<std::int64_t>(std::max(in_l1_.size(), longest_.size()));
}

Sides::Sides(const KernelConfig& config) {
  checks_src =
      config.options.op == Operation::kForward || (config.weight_grad() && config.checked != Operand::kG);
  checked = checks_src ? config.src : config.dst;
  other = checks_src ? config.dst : config.src;
}

Range valid_outputs(std::int64_t outputs, std::int64_t size, std::int64_t stride, std::int64_t offset) {
  const std::int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t last = size - 1 - offset;  // o * stride <= last
  const std::int64_t end = last < 0 ? 0 : std::min(outputs, last / stride + 1);
  return {begin, std::max(begin, end)};
}

RowUnits::RowUnits(const BlockedShape& result, std::int64_t pixels, std::int64_t others, int threads)
    : n_(result.n),
      h_(result.h),
      images_(std::clamp<std::int64_t>(pixels / result.pixels(), 1, result.n)),
      rows_(std::clamp<std::int64_t>(pixels / result.w, 1, result.h)) {
  while (threads > 1 && others * count() < 2 * threads && (images_ > 1 || rows_ > 1)) {
    std::int64_t& size = images_ > 1 ? images_ : rows_;
    size = (size + 1) / 2;
  }
}

RowUnits::Unit RowUnits::at(std::int64_t index) const {
  const std::int64_t image = index / units(h_, rows_) * images_, row = index % units(h_, rows_) * rows_;
  return {{image, std::min(n_, image + images_)}, {row, std::min(h_, row + rows_)}};
}

SparseConv::SparseConv(const KernelConfig& config, const char* kind)
    : shape_(config.shape),
      op_(config.options.op),
      checked_(config.checked),
      threads_(config.options.threads),
      ohwi_(config.options.weights == WeightLayout::kOhwi),
      kernels_(micro_kernels(config.isa)),
      sides_(config),
      packs_weights_(config.packed()),
      bias_(config.options.bias),
      relu_(config.options.relu),
      name_(std::string(kind) + " " + kernels_.isa) {}

std::int64_t SparseConv::bias_floats() const {
  return op_ == Operation::kWeightGrad ? 0 : sides_.other.groups * sides_.other.blocks() * kLanes;
}

namespace {

// The bias of each output as kernels want it, [groups][blocks per group * 16]; zeros without one. Returns
// `to`.
const float* padded_bias(const BlockedShape& result, const float* bias, float* to) {
  const std::int64_t group = result.blocks() * kLanes;
  std::fill(to, to + result.groups * group, 0.0F);
  for (std::int64_t k = 0; bias != nullptr && k < result.groups * result.channels; ++k)
    to[k / result.channels * group + k % result.channels] = bias[k];
  return to;
}

}  // namespace

void SparseConv::run(const ConvTensors& t, const KernelMemory& memory) {
  prepare(t);
  SparseRun run{};
  run.workspace = memory.scratch + bias_floats();
  if (op_ == Operation::kWeightGrad) {
    run.checked = sides_.checks_src ? t.src : t.diff_dst;
    run.other = sides_.checks_src ? t.diff_dst : t.src;
    if (packs_weights_) {
      run.out = t.diff_weights;
    } else if (takes_plain()) {
      run.plain_out = t.diff_weights;
    } else {
      run.out = memory.kept;
    }
    compute(run);
    if (kept_floats() > 0) unpack(run.out, t.diff_weights);
    return;
  }
  const bool forward = op_ == Operation::kForward;
  run.checked = forward ? t.src : t.diff_dst;
  run.out = forward ? t.dst : t.diff_src;
  run.needed = forward ? nullptr : t.src;
  run.bias = padded_bias(sides_.other, bias_ ? t.bias : nullptr, memory.scratch);
  run.relu = relu_;
  if (packs_weights_) {
    run.other = t.weights;
  } else if (takes_plain()) {
    run.plain = t.weights;
  } else {
    if (!same_weights(t)) pack(t.weights, memory.kept);
    run.other = memory.kept;
  }
  compute(run);
}

bool is_3x3_same(const LayerShape& shape) {
  return shape.kernel == Size2{3, 3} && shape.stride == Size2{1, 1} && shape.padding == Size2{1, 1} &&
         shape.dilation == Size2{1, 1};
}

std::int64_t sum_slices(std::int64_t units, std::int64_t tiles, std::int64_t sum_floats, int threads) {
  if (threads == 1 || units >= threads) return 1;
  constexpr std::int64_t kMostFloats = 4 << 20;  // of all slices: 16 MB
  const std::int64_t wanted = (2 * threads + units - 1) / units;
  const std::int64_t affordable = 1 + kMostFloats / std::max<std::int64_t>(sum_floats, 1);
  return std::max<std::int64_t>(1, std::min({wanted, affordable, tiles}));
}

void add_slices(float* out, const float* sums, std::int64_t sum_floats, std::int64_t slices, int threads) {
  if (slices == 1) return;
  constexpr std::int64_t kPart = 4096;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t first = 0; first < sum_floats; first += kPart) {
    const std::int64_t end = std::min(sum_floats, first + kPart);
    for (std::int64_t slice = 1; slice < slices; ++slice) {
      const float* from = sums + (slice - 1) * sum_floats;
      for (std::int64_t i = first; i < end; ++i) out[i] += from[i];
    }
  }
}

}  // namespace lacuna::kernels
