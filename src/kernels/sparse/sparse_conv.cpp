#include "kernels/sparse/sparse_conv.hpp"

#include <algorithm>
#include <unistd.h>

#include "kernels/dispatch/cost_model.hpp"
#include "kernels/sparse/list_weight_grad.hpp"
#include "kernels/sparse/packed_conv.hpp"
#include "kernels/sparse/pixel_conv.hpp"
#include "kernels/sparse/tap_weight_grad.hpp"
#include "kernels/sparse/window_conv.hpp"

namespace lacuna::kernels {

const MicroKernels& micro_kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return kAvx512Kernels;
  if (isa == Isa::kAvx2) return kAvx2Kernels;
#endif
  (void)isa;
  return kPortableKernels;
}

std::int64_t l1_data_bytes() {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  const long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  if (bytes >= 16 * 1024) return bytes;
#endif
  return 32 * 1024;
}

std::vector<Part> split_blocks(std::int64_t blocks, std::int64_t most) {
  const std::int64_t parts = (blocks + most - 1) / most;
  std::vector<Part> result;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t count = blocks / parts + (i < blocks % parts ? 1 : 0);
    result.push_back({first, count});
    first += count;
  }
  return result;
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

Sides::Sides(const SparseConfig& config) {
  const bool activations = config.op == Operation::kForward ||
                           (config.op == Operation::kWeightGrad && config.checked == Operand::kA);
  BlockedShape src = blocked_src(config.shape);
  BlockedShape dst = blocked_dst(config.shape);
  src.channels_last = config.src_channels_last;
  dst.channels_last = config.dst_channels_last;
  checked = activations ? src : dst;
  other = activations ? dst : src;
}

Range valid_outputs(std::int64_t outputs, std::int64_t size, std::int64_t stride, std::int64_t offset) {
  const std::int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t last = size - 1 - offset;  // o * stride <= last
  const std::int64_t end = last < 0 ? 0 : std::min(outputs, last / stride + 1);
  return {begin, std::max(begin, end)};
}

KernelConv::KernelConv(const SparseConfig& config, const char* kind)
    : shape_(config.shape),
      op_(config.op),
      checked_(config.checked),
      threads_(config.threads),
      ohwi_(config.ohwi),
      kernels_(micro_kernels(config.isa)),
      sides_(config),
      name_(std::string(kind) + " " + kernels_.isa) {}

bool is_3x3_same(const LayerShape& shape) {
  return shape.kernel == Size2{3, 3} && shape.stride == Size2{1, 1} && shape.padding == Size2{1, 1} &&
         shape.dilation == Size2{1, 1};
}

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

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

const std::vector<SparseKernel>& sparse_kernels() {
  static const std::vector<SparseKernel> kernels = {
      {"window", window_conv_supports, make_window_conv},
      {"packed", packed_conv_supports, make_packed_conv},
      {"pixel", pixel_conv_supports, make_pixel_conv},
      {"list", list_weight_grad_supports, make_list_weight_grad},
      {"tap", tap_weight_grad_supports, make_tap_weight_grad},
  };
  return kernels;
}

std::unique_ptr<SparseConv> make_sparse_conv(const SparseConfig& config) {
  for (const SparseKernel& kernel : sparse_kernels())
    if (kernel.supports(config)) return kernel.make(config);
  return nullptr;
}

}  // namespace lacuna::kernels
