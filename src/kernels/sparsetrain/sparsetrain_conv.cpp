#include "kernels/sparsetrain/sparsetrain_conv.hpp"

#include <bit>

namespace lacuna::kernels {
namespace sparsetrain {
namespace {

RowKind kind_of(const LayerShape& shape, bool gather) {
  if (shape.kernel.w == 1) return kPixel;
  if (shape.kernel.w == 5) return kGather5;
  if (shape.stride.w == 1) return kGather3;
  return gather ? kGather3Stride2 : kScatter3Stride2;
}

}  // namespace

Mapping::Mapping(const KernelConfig& config)
    : gather(config.options.op == Operation::kForward ||
             (config.weight_grad() && config.checked == Operand::kA)),
      kind(kind_of(config.shape, gather)),
      turned(!gather && (kind == kGather3 || kind == kGather5)),
      kernel(config.shape.kernel),
      stride(config.shape.stride),
      padding(config.shape.padding),
      padding_w(turned ? kernel.w - 1 - padding.w : padding.w),
      joined(kind == kPixel && kernel.h == 1 && padding == Size2{0, 0} && stride == Size2{1, 1}) {}

std::int64_t Mapping::checked_row(std::int64_t v, std::int64_t r, std::int64_t checked_rows) const {
  std::int64_t u = v * stride.h - padding.h + r;
  if (!gather) {
    u = v + padding.h - r;
    if (u < 0 || u % stride.h != 0) return -1;
    u /= stride.h;
  }
  return u >= 0 && u < checked_rows ? u : -1;
}

Range Mapping::pixel_columns(const LayerShape& shape) const {
  return valid_outputs(shape.output.w, shape.input.w, stride.w, -padding.w);
}

std::vector<Part> vector_parts(std::int64_t blocks, RowKind kind) {
  std::vector<Part> parts;
  std::int64_t most = kind == kGather5 ? 4 : 8;
  for (std::int64_t first = 0; first < blocks; first += parts.back().count) {
    while (most > blocks - first) most /= 2;
    parts.push_back({first, most});
  }
  return parts;
}

int choice_of(std::int64_t vectors) { return std::countr_zero(static_cast<std::uint64_t>(vectors)); }

}  // namespace sparsetrain

std::string sparsetrain_refusal(const LayerShape& shape, Isa isa) {
  if (isa != Isa::kAvx512) return "needs a CPU with AVX-512";
  if (shape.groups != 1) return "has no convolutions in groups";
  if (shape.dilation != Size2{1, 1}) return "has no dilated convolutions";
  const std::int64_t w = shape.kernel.w;
  const std::string width = std::to_string(w);
  if (w != 1 && w != 3 && w != 5) return "has no kernel of width " + width + " (it has 1, 3 and 5)";
  if (w == 3 && shape.stride.w > 2) return "has no stride above 2 for kernels of width 3";
  if (w == 5 && shape.stride.w > 1) return "has no stride for kernels of width 5";
  return "";
}

namespace {

std::unique_ptr<ConvKernel> make(const KernelConfig& config) {
  using Code = ConvError::Code;
  if (config.options.weights == WeightLayout::kOhwi)
    throw ConvError(Code::kOption, "SparseTrain's kernels have no ohwi weights", "use oihw or packed");
  if (const std::string refusal = sparsetrain_refusal(config.shape, config.isa); !refusal.empty())
    throw ConvError(Code::kShape, "sparsetrain " + refusal, "use another implementation");
#if defined(__x86_64__)
  return config.weight_grad() ? sparsetrain::make_weight_grad(config) : sparsetrain::make_sweep_conv(config);
#else
  return nullptr;  // no other CPU has AVX-512
#endif
}

}  // namespace

const ConvImplementation kSparseTrainConv{
    .name = "sparsetrain",
    .description =
        "the algorithm of SparseTrain's authors, to compare with: kernel widths 1, 3 and 5 (AVX-512)",
    .skips = Skips::kChecked,
    .form = TensorForm::kBlocked,
    .make = make};

}  // namespace lacuna::kernels
