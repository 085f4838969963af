#include "kernels/bfloat16/bfloat16_conv.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "kernels/bfloat16/line_conv.hpp"
#include "kernels/bfloat16/plane_conv.hpp"
#include "kernels/blocked.hpp"

namespace lacuna::kernels {
namespace {

using Code = ConvError::Code;

constexpr const char* kNoAmx = "this CPU has no AMX with bfloat16 (amx_tile, amx_bf16)";

bool emulated(const std::string& isa) {
  const char* wanted = std::getenv("LACUNA_ISA");
  return isa == "portable" || (isa.empty() && wanted != nullptr && std::strcmp(wanted, "portable") == 0);
}

const TileKernels& pick_tiles(const ConvOptions& options) {
  if (emulated(options.isa)) return kPortableTiles;
#if defined(LACUNA_X86)
  if (amx_available()) return kAmxTiles;
#endif
  throw ConvError(Code::kOption, kNoAmx, "use float32, or isa portable to emulate it, slowly");
}

PixelView view_of(const BlockedShape& shape, Layout layout, bool rows) {
  const BlockedShape direct = direct_shape(shape, layout);
  if (layout == Layout::kNchw || (layout == Layout::kNhwc && !direct.channels_last))
    throw ConvError(Code::kOption, "bfloat16 kernels take whole blocks of 16 channels",
                    "use the blocked layout, or channels last with a multiple of 16 channels");
  PixelView view{direct.channels, direct.image_floats(), direct.w * direct.pixel_floats(),
                 direct.pixel_floats(), direct.block_floats()};
  if (rows) view.pixel_step = view.image_step;
  return view;
}

}  // namespace

bool bfloat16_available(const std::string& isa) { return emulated(isa) || amx_available(); }

void require_bfloat16(const std::string& where) {
  if (!bfloat16_available())
    throw InputError(where, kNoAmx, "use float32, or set LACUNA_ISA=portable to emulate it, slowly");
}

double bfloat16_buffer_bytes(const LayerShape& s, int threads, int weight_grads) {
  const double lines = 2.0 * threads * static_cast<double>(LineConv::kLinesAtOnce) * 64;
  const double elements = static_cast<double>(s.a_elements() + s.g_elements());
  // Of the activations there may be two copies.
  return lines + weight_grads * 3 * std::min(elements, static_cast<double>(PlaneConv::kElementsAtOnce));
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
  if (given.groups > 1) throw ConvError(Code::kShape, "bfloat16 kernels have no groups", "use float32");
  if (options.weights == WeightLayout::kOhwi)
    throw ConvError(Code::kOption, "bfloat16 kernels have no ohwi weights", "use oihw or packed");
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
