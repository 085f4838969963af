#include "kernels/ref/ref_conv.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/conv_kernel.hpp"

namespace lacuna::kernels {
namespace {

// Returns the offset of (image, channel over all groups, pixel) in a tensor of a layout.
struct TensorIndex {
  BlockedShape shape;
  Layout layout;
  std::int64_t pixel_stride() const {
    return layout == Layout::kNchw ? 1 : layout == Layout::kNhwc ? shape.groups * shape.channels : kLanes;
  }
  std::int64_t base(std::int64_t n, std::int64_t channel) const {
    const std::int64_t all = shape.groups * shape.channels;
    if (layout == Layout::kNchw) return (n * all + channel) * shape.pixels();
    if (layout == Layout::kNhwc) return n * shape.pixels() * all + channel;
    // Groups of whole blocks follow one another, so this is nChw16c with and without groups.
    return n * stored_shape(shape).image_floats() + channel / kLanes * shape.block_floats() +
           channel % kLanes;
  }
  std::int64_t size() const {
    return layout == Layout::kBlocked ? stored_shape(shape).floats() : shape.plain_floats();
  }
};

}  // namespace

RefConv::RefConv(const LayerShape& shape, const ConvOptions& options)
    : shape_(shape),
      op_(options.op),
      src_layout_(options.layout_of_src()),
      dst_layout_(options.layout_of_dst()),
      relu_(options.relu) {}

std::int64_t RefConv::result_size() const {
  if (op_ == Operation::kForward) return TensorIndex{blocked_dst(shape_), dst_layout_}.size();
  if (op_ == Operation::kInputGrad) return TensorIndex{blocked_src(shape_), src_layout_}.size();
  return shape_.w_elements();
}

void RefConv::run(const ConvTensors& t, double* sum, double* magnitude) const {
  const TensorIndex src{blocked_src(shape_), src_layout_};
  const TensorIndex dst{blocked_dst(shape_), dst_layout_};
  std::fill(sum, sum + result_size(), 0.0);
  if (magnitude != nullptr) std::fill(magnitude, magnitude + result_size(), 0.0);
  auto add = [&](std::int64_t index, double product) {
    sum[index] += product;
    if (magnitude != nullptr) magnitude[index] += std::fabs(product);
  };
  if (op_ == Operation::kForward && t.bias != nullptr)
    for (std::int64_t n = 0; n < shape_.n; ++n)
      for (std::int64_t k = 0; k < shape_.k; ++k)
        for (std::int64_t p = 0; p < shape_.output_positions(); ++p)
          add(dst.base(n, k) + p * dst.pixel_stride(), t.bias[k]);
  for (std::int64_t k = 0; k < shape_.k; ++k)
    for (std::int64_t c = 0; c < shape_.c_per_group(); ++c) {
      const std::int64_t ic = k / shape_.k_per_group() * shape_.c_per_group() + c;
      for (std::int64_t n = 0; n < shape_.n; ++n) {
        const std::int64_t a_base = src.base(n, ic);
        const std::int64_t g_base = dst.base(n, k);
        for (std::int64_t r = 0; r < shape_.kernel.h; ++r)
          for (std::int64_t s = 0; s < shape_.kernel.w; ++s) {
            const std::int64_t w =
                ((k * shape_.c_per_group() + c) * shape_.kernel.h + r) * shape_.kernel.w + s;
            for (std::int64_t oh = 0; oh < shape_.output.h; ++oh) {
              const std::int64_t ih = oh * shape_.stride.h - shape_.padding.h + r * shape_.dilation.h;
              if (ih < 0 || ih >= shape_.input.h) continue;
              for (std::int64_t ow = 0; ow < shape_.output.w; ++ow) {
                const std::int64_t iw = ow * shape_.stride.w - shape_.padding.w + s * shape_.dilation.w;
                if (iw < 0 || iw >= shape_.input.w) continue;
                const std::int64_t a = a_base + (ih * shape_.input.w + iw) * src.pixel_stride();
                const std::int64_t g = g_base + (oh * shape_.output.w + ow) * dst.pixel_stride();
                if (op_ == Operation::kForward)
                  add(g, static_cast<double>(t.src[a]) * t.weights[w]);
                else if (op_ == Operation::kInputGrad)
                  add(a, static_cast<double>(t.diff_dst[g]) * t.weights[w]);
                else
                  add(w, static_cast<double>(t.src[a]) * t.diff_dst[g]);
              }
            }
          }
      }
    }
  if (op_ == Operation::kForward && relu_)
    for (std::int64_t i = 0; i < result_size(); ++i) sum[i] = sum[i] < 0 ? 0.0 : sum[i];
}

namespace {

class ReferenceConv final : public ConvKernel {
 public:
  explicit ReferenceConv(const KernelConfig& config)
      : options_(config.options), conv_(config.shape, options_) {
    if (options_.weights != WeightLayout::kOihw)
      throw ConvError(ConvError::Code::kOption, "the reference has no packed or ohwi weights", "use oihw");
    sums_.resize(static_cast<std::size_t>(conv_.result_size()));
  }
  const char* name() const override { return "reference"; }
  std::int64_t packed_floats() const override { return 0; }
  void pack(const float*, float*) override {}
  void unpack(const float*, float*) override {}
  void run(const ConvTensors& t, const KernelMemory&) override {
    ConvTensors used = t;
    if (!options_.bias) used.bias = nullptr;
    conv_.run(used, sums_.data());
    float* out = options_.op == Operation::kForward     ? t.dst
                 : options_.op == Operation::kInputGrad ? t.diff_src
                                                        : t.diff_weights;
    std::transform(sums_.begin(), sums_.end(), out, [](double v) { return static_cast<float>(v); });
  }

 private:
  ConvOptions options_;
  RefConv conv_;
  std::vector<double> sums_;
};

}  // namespace

const ConvImplementation kReferenceConv{.name = "reference",
                                        .description = "double-precision sums: slow, to check the others",
                                        .make = make_kernel<ReferenceConv>};

}  // namespace lacuna::kernels
