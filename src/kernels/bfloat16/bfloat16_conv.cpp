#include "kernels/bfloat16/bfloat16_conv.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/cpu.hpp"
#include "kernels/bfloat16/line_conv.hpp"
#include "kernels/bfloat16/plane_conv.hpp"
#include "kernels/conv_kernel.hpp"
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

PixelView view_of(const BlockedShape& direct, bool rows) {
  PixelView view{direct.channels, direct.image_floats(), direct.w * direct.pixel_floats(),
                 direct.pixel_floats(), direct.block_floats()};
  if (rows) view.pixel_step = view.image_step;
  return view;
}

}  // namespace

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
  const double lines = 2.0 * threads * static_cast<double>(LineConv::kLinesAtOnce) * 64;
  // Of the activations there may be two copies.
  return lines + weight_grads * 3 * std::min(both, static_cast<double>(PlaneConv::kElementsAtOnce));
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

// By tiles.
class Bfloat16Conv final : public ConvKernel {
 public:
  explicit Bfloat16Conv(const KernelConfig& config);

  const char* name() const override { return name_.c_str(); }
  // Packed gradients are oihw.
  std::int64_t packed_floats() const override {
    return lines_ ? lines_->packed_elements() / 2 : shape_.w_elements();
  }
  void pack(const float* oihw, float* packed) override {
    if (lines_)
      lines_->pack(oihw, reinterpret_cast<Bfloat16*>(packed));
    else
      std::copy_n(oihw, shape_.w_elements(), packed);
  }
  void unpack(const float* packed, float* oihw) override { std::copy_n(packed, shape_.w_elements(), oihw); }
  void run(const ConvTensors& t, const KernelMemory&) override;

 private:
  ConvOptions options_;
  LayerShape shape_;
  std::string name_;
  std::optional<LineConv> lines_;
  std::optional<PlaneConv> planes_;
  AlignedFloats packed_, bias_;
};

Bfloat16Conv::Bfloat16Conv(const KernelConfig& config) : options_(config.options), shape_(config.shape) {
  const TileKernels& kernels = pick_tiles(options_);
  check(config);
  name_ = std::string("bfloat16 ") + kernels.name;
  // Images of one pixel, and the rows of linear layers, are the pixels of one image.
  const LayerShape& given = shape_;
  const bool rows = given.input == Size2{1, 1} && given.kernel == Size2{1, 1} &&
                    given.output == Size2{1, 1} && given.padding == Size2{0, 0};
  const LayerShape shape = rows ? LayerShape::conv2d(1, given.c, given.k, {1, given.n}, {1, 1}) : given;
  const PixelView src = view_of(config.src, rows), dst = view_of(config.dst, rows);
  if (config.weight_grad()) {
    planes_.emplace(shape, src, dst, kernels, options_.threads);
    return;
  }
  const bool backward = options_.op == Operation::kInputGrad;
  lines_.emplace(shape, backward, backward ? dst : src, backward ? src : dst, kernels, options_.threads);
  if (!config.packed()) packed_ = AlignedFloats(packed_floats());
  bias_ = AlignedFloats((backward ? src : dst).blocks() * 16);
}

void Bfloat16Conv::run(const ConvTensors& t, const KernelMemory&) {
  if (planes_) return planes_->run(t.src, t.diff_dst, t.diff_weights);
  const bool forward = options_.op == Operation::kForward;
  const float* weights = t.weights;
  if (options_.weights != WeightLayout::kPacked) {
    if (!same_weights(t)) pack(t.weights, packed_.data());
    weights = packed_.data();
  }
  if (options_.bias) std::copy_n(t.bias, shape_.k, bias_.data());
  lines_->run(forward ? t.src : t.diff_dst, reinterpret_cast<const Bfloat16*>(weights), bias_.data(),
              options_.relu, forward ? t.dst : t.diff_src);
}

std::unique_ptr<ConvKernel> make(const KernelConfig& config) {
  if (bfloat16_unit(config.options.isa) != Bfloat16Unit::kPairs)
    return std::make_unique<Bfloat16Conv>(config);
  check(config);
  return make_onednn(OneDnnAlgorithm::kBfloat16, config);
}

}  // namespace

const ConvImplementation kBfloat16Conv{
    .name = "bfloat16",
    .description = "operands rounded to bfloat16, sums in single precision (AMX or AVX512-BF16)",
    .make = make,
    .may_choose = [](const ConvOptions& options) { return options.allow_bfloat16; }};

}  // namespace lacuna::kernels
