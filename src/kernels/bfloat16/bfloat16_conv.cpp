#include "kernels/bfloat16/bfloat16_conv.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/cpu.hpp"
#include "kernels/bfloat16/tile_conv.hpp"
#include "kernels/onednn/onednn_conv.hpp"

namespace lacuna::kernels {
namespace {

using Code = ConvError::Code;

constexpr const char* kMissing = "this CPU has no bfloat16 (neither amx_bf16 with amx_tile nor avx512_bf16)";

// The instruction set that was asked for, "" for the best.
std::string asked_for(const std::string& isa) { return isa.empty() ? std::string(isa_override()) : isa; }

const TileKernels& pick_tiles(const ConvOptions& options) {
  if (asked_for(options.isa) == "portable") return kPortableTiles;
#if defined(__x86_64__)
  if (amx_available()) return kAmxTiles;
#endif
  throw ConvError(Code::kOption, kMissing, "use float32, or isa portable to emulate it, slowly");
}

}  // namespace

TileConv::TileConv(const KernelConfig& config, const TileKernels& kernels)
    : kernels_(kernels),
      options_(config.options),
      shape_(config.shape),
      name_(std::string("bfloat16 ") + kernels.name) {
  const LayerShape& s = config.shape;
  const Size2 one{1, 1};
  const bool rows = s.input == one && s.kernel == one && s.output == one && s.padding == Size2{0, 0};
  if (rows) shape_ = LayerShape::conv2d(1, s.c, s.k, {1, s.n}, {1, 1});
  const auto view = [&](const BlockedShape& of) {
    return PixelView{of.channels, of.image_floats(), of.w * of.pixel_floats(),
                     rows ? of.image_floats() : of.pixel_floats(), of.block_floats()};
  };
  src_ = view(config.src);
  dst_ = view(config.dst);
}

Bfloat16Unit bfloat16_unit(const std::string& isa) {
  const std::string asked = asked_for(isa);
  if (asked == "portable" || amx_available()) return Bfloat16Unit::kTiles;
  // oneDNN takes tiles wherever the CPU reports them, and 2.6.3 fails on virtual machines that hide their
  // size.
  const bool pairs = cpu_features().avx512_bf16 && !cpu_features().amx_bf16;
  return pairs && asked != "avx2" ? Bfloat16Unit::kPairs : Bfloat16Unit::kNone;
}

void require_bfloat16(const std::string& where) {
  if (!bfloat16_available())
    throw InputError(where, kMissing, "use float32, or set LACUNA_ISA=portable to emulate it, slowly");
}

double bfloat16_buffer_bytes(const LayerShape& s, int threads, int weight_grads) {
  const double both = static_cast<double>(s.a_elements() + s.g_elements());
  if (bfloat16_unit() == Bfloat16Unit::kPairs) return sizeof(Bfloat16) * both * (1 + weight_grads);
  const double lines = 2.0 * threads * static_cast<double>(kLinesAtOnce) * 64;
  // There may be two copies of the activations.
  return lines + weight_grads * 3 * std::min(both, static_cast<double>(kElementsAtOnce));
}

namespace {

void check(const KernelConfig& config) {
  const LayerShape& shape = config.shape;
  const ConvOptions& options = config.options;
  if (shape.groups > 1) throw ConvError(Code::kShape, "bfloat16 kernels have no groups", "use float32");
  if (options.weights == WeightLayout::kOhwi)
    throw ConvError(Code::kOption, "bfloat16 kernels have no ohwi weights", "use oihw or packed");
  for (const auto& [tensor, layout] :
       {std::pair{config.src, options.layout_of_src()}, std::pair{config.dst, options.layout_of_dst()}})
    if (layout == Layout::kNchw || (layout == Layout::kNhwc && !tensor.channels_last))
      throw ConvError(Code::kOption, "bfloat16 kernels take whole blocks of 16 channels",
                      "use the blocked layout, or channels last with a multiple of 16 channels");
}

std::unique_ptr<ConvKernel> make(const KernelConfig& config) {
  if (bfloat16_unit(config.options.isa) == Bfloat16Unit::kPairs) {
    check(config);
    return make_onednn(OneDnnAlgorithm::kBfloat16, config);
  }
  const TileKernels& kernels = pick_tiles(config.options);
  check(config);
  return config.weight_grad() ? make_plane_conv(config, kernels) : make_line_conv(config, kernels);
}

}  // namespace

const ConvImplementation kBfloat16Conv{
    .name = "bfloat16",
    .description = "operands rounded to bfloat16, sums in single precision (AMX or AVX512-BF16)",
    .make = make,
    .may_choose = [](const ConvOptions& options) { return options.allow_bfloat16; }};

}  // namespace lacuna::kernels
