#include "kernels/ref/ref_conv.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/blocked.hpp"

namespace lacuna::kernels {
namespace {

// Where (image, channel over all groups, pixel) is in a tensor of a layout.
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
    const std::int64_t in_group = channel % shape.channels;
    return n * shape.image_floats() + channel / shape.channels * shape.group_floats() +
           in_group / kLanes * shape.block_floats() + in_group % kLanes;
  }
  std::int64_t size() const { return layout == Layout::kBlocked ? shape.floats() : shape.plain_floats(); }
};

}  // namespace

std::int64_t RefConv::result_size() const {
  if (op == Op::kForward) return TensorIndex{blocked_dst(shape), layout}.size();
  if (op == Op::kInputGrad) return TensorIndex{blocked_src(shape), layout}.size();
  return shape.w_elements();
}

void RefConv::run(const ConvTensors& t, double* sum, double* magnitude) const {
  const TensorIndex src{blocked_src(shape), layout};
  const TensorIndex dst{blocked_dst(shape), layout};
  std::fill(sum, sum + result_size(), 0.0);
  if (magnitude != nullptr) std::fill(magnitude, magnitude + result_size(), 0.0);
  auto add = [&](std::int64_t index, double product) {
    sum[index] += product;
    if (magnitude != nullptr) magnitude[index] += std::fabs(product);
  };
  if (op == Op::kForward && t.bias != nullptr)
    for (std::int64_t n = 0; n < shape.n; ++n)
      for (std::int64_t k = 0; k < shape.k; ++k)
        for (std::int64_t p = 0; p < shape.output_positions(); ++p)
          add(dst.base(n, k) + p * dst.pixel_stride(), t.bias[k]);
  for (std::int64_t k = 0; k < shape.k; ++k)
    for (std::int64_t c = 0; c < shape.c_per_group(); ++c) {
      const std::int64_t ic = k / shape.k_per_group() * shape.c_per_group() + c;
      for (std::int64_t n = 0; n < shape.n; ++n) {
        const std::int64_t a_base = src.base(n, ic);
        const std::int64_t g_base = dst.base(n, k);
        for (std::int64_t r = 0; r < shape.kernel.h; ++r)
          for (std::int64_t s = 0; s < shape.kernel.w; ++s) {
            const std::int64_t w = ((k * shape.c_per_group() + c) * shape.kernel.h + r) * shape.kernel.w + s;
            for (std::int64_t oh = 0; oh < shape.output.h; ++oh) {
              const std::int64_t ih = oh * shape.stride.h - shape.padding.h + r * shape.dilation.h;
              if (ih < 0 || ih >= shape.input.h) continue;
              for (std::int64_t ow = 0; ow < shape.output.w; ++ow) {
                const std::int64_t iw = ow * shape.stride.w - shape.padding.w + s * shape.dilation.w;
                if (iw < 0 || iw >= shape.input.w) continue;
                const std::int64_t a = a_base + (ih * shape.input.w + iw) * src.pixel_stride();
                const std::int64_t g = g_base + (oh * shape.output.w + ow) * dst.pixel_stride();
                if (op == Op::kForward)
                  add(g, static_cast<double>(t.src[a]) * t.weights[w]);
                else if (op == Op::kInputGrad)
                  add(a, static_cast<double>(t.diff_dst[g]) * t.weights[w]);
                else
                  add(w, static_cast<double>(t.src[a]) * t.diff_dst[g]);
              }
            }
          }
      }
    }
  if (op == Op::kForward && relu)
    for (std::int64_t i = 0; i < result_size(); ++i) sum[i] = sum[i] < 0 ? 0.0 : sum[i];
}

}  // namespace lacuna::kernels
