#include "kernels/bfloat16/bfloat16_conv.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/cpu.hpp"
#include "kernels/bfloat16/line_conv.hpp"
#include "kernels/bfloat16/plane_conv.hpp"
#include "kernels/blocked.hpp"

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

PixelView view_of(const BlockedShape& shape, Layout layout, bool rows) {
  const BlockedShape direct = direct_shape(shape, layout);
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

void check_bfloat16(const LayerShape& shape, const ConvOptions& options) {
  if (shape.groups > 1) throw ConvError(Code::kShape, "bfloat16 kernels have no groups", "use float32");
  if (options.weights == WeightLayout::kOhwi)
    throw ConvError(Code::kOption, "bfloat16 kernels have no ohwi weights", "use oihw or packed");
  for (const auto& [tensor, layout] : {std::pair{blocked_src(shape), options.layout_of_src()},
                                       std::pair{blocked_dst(shape), options.layout_of_dst()}})
    if (layout == Layout::kNchw || (layout == Layout::kNhwc && !direct_shape(tensor, layout).channels_last))
      throw ConvError(Code::kOption, "bfloat16 kernels take whole blocks of 16 channels",
                      "use the blocked layout, or channels last with a multiple of 16 channels");
}

double bfloat16_buffer_bytes(const LayerShape& s, int threads, int weight_grads) {
  const double both = static_cast<double>(s.a_elements() + s.g_elements());
  if (bfloat16_unit() == Bfloat16Unit::kPairs) return sizeof(Bfloat16) * both * (1 + weight_grads);
  const double lines = 2.0 * threads * static_cast<double>(LineConv::kLinesAtOnce) * 64;
  // Of the activations there may be two copies.
  return lines + weight_grads * 3 * std::min(both, static_cast<double>(PlaneConv::kElementsAtOnce));
}

struct Bfloat16Conv::State {
  ConvOptions options;
  std::string name;
  LayerShape shape;
  std::optional<LineConv> lines;
  std::optional<PlaneConv> planes;
  AlignedFloats packed, bias;
};

Bfloat16Conv::Bfloat16Conv(const LayerShape& given, const ConvOptions& options)
    : state_(std::make_unique<State>()) {
  State& st = *state_;
  st.options = options;
  st.shape = given;
  const TileKernels& kernels = pick_tiles(options);
  check_bfloat16(given, options);
  st.name = std::string("bfloat16 ") + kernels.name;
  // Images of one pixel, and the rows of linear layers, are the pixels of one image.
  const bool rows = given.input == Size2{1, 1} && given.kernel == Size2{1, 1} &&
                    given.output == Size2{1, 1} && given.padding == Size2{0, 0};
  const LayerShape shape = rows ? LayerShape::conv2d(1, given.c, given.k, {1, given.n}, {1, 1}) : given;
  const PixelView src = view_of(blocked_src(given), options.layout_of_src(), rows);
  const PixelView dst = view_of(blocked_dst(given), options.layout_of_dst(), rows);
  if (options.op == Operation::kWeightGrad) {
    st.planes.emplace(shape, src, dst, kernels, options.threads);
    return;
  }
  const bool backward = options.op == Operation::kInputGrad;
  st.lines.emplace(shape, backward, backward ? dst : src, backward ? src : dst, kernels, options.threads);
  if (options.weights != WeightLayout::kPacked) st.packed = AlignedFloats(packed_floats());
  st.bias = AlignedFloats((backward ? src : dst).blocks() * 16);
  std::fill_n(st.bias.data(), st.bias.size(), 0.0F);
}

Bfloat16Conv::~Bfloat16Conv() = default;

const char* Bfloat16Conv::name() const { return state_->name.c_str(); }

std::int64_t Bfloat16Conv::packed_floats() const {
  return state_->lines ? state_->lines->packed_elements() / 2 : state_->shape.w_elements();
}

void Bfloat16Conv::pack(const float* oihw, float* packed) {
  if (state_->lines)
    state_->lines->pack(oihw, reinterpret_cast<Bfloat16*>(packed));
  else
    std::copy_n(oihw, state_->shape.w_elements(), packed);
}

void Bfloat16Conv::unpack(const float* packed, float* oihw) {
  std::copy_n(packed, state_->shape.w_elements(), oihw);
}

void Bfloat16Conv::run(const ConvTensors& t, bool same_weights) {
  State& st = *state_;
  if (st.planes) return st.planes->run(t.src, t.diff_dst, t.diff_weights);
  const bool forward = st.options.op == Operation::kForward;
  const float* weights = t.weights;
  if (st.options.weights != WeightLayout::kPacked) {
    if (!same_weights) pack(t.weights, st.packed.data());
    weights = st.packed.data();
  }
  if (st.options.bias) std::copy_n(t.bias, st.shape.k, st.bias.data());
  st.lines->run(forward ? t.src : t.diff_dst, reinterpret_cast<const Bfloat16*>(weights), st.bias.data(),
                st.options.relu, forward ? t.dst : t.diff_src);
}

}  // namespace lacuna::kernels
