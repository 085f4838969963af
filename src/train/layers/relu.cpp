#include <array>
#include <vector>

#include "train/layers/layers.hpp"
#include "train/layers/planes.hpp"
#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

// The gradient is computed from the output, so that the layer may run in place.
class Relu final : public Layer {
 public:
  explicit Relu(const LayerParts& parts)
      : in_(*parts.in[0]),
        out_(parts.out),
        forward_done_(parts.forward_done),
        backward_done_(parts.backward_done),
        bias_grad_(parts.bias_grad),
        planes_(in_, parts.threads) {
    if (bias_grad_ != nullptr) sums_.resize(static_cast<std::size_t>(planes_.blocks() * planes_.parts()));
  }

  void forward(const Pass&) override {
    if (forward_done_) return;
    planes_.each_part([&](std::int64_t block, std::int64_t part) {
      planes_.each_image(block, part, [&](std::int64_t at) {
        passes().relu(in_.data.data() + at, planes_.pixels(), out_.data.data() + at);
      });
    });
  }

  void backward(GradientSum& sum) override {
    if (backward_done_) return;
    const bool in_place = &in_ == &out_;
    float* diff_src = in_place ? out_.grad : sum.begin(in_);
    if (diff_src == nullptr) return;
    planes_.each_part([&](std::int64_t block, std::int64_t part) {
      Sums* sums =
          sums_.empty() ? nullptr : &(sums_[static_cast<std::size_t>(planes_.item(block, part))] = {});
      planes_.each_image(block, part, [&](std::int64_t at) {
        passes().relu_gradient(out_.data.data() + at, out_.grad + at, planes_.pixels(), diff_src + at,
                               sums == nullptr ? nullptr : sums->data());
      });
    });
    if (!sums_.empty()) add_up();
    if (!in_place) sum.end(in_);
  }

 private:
  using Sums = std::array<double, kBlock>;

  void add_up() {
    for (std::int64_t c = 0; c < in_.shape.c; ++c) {
      double all = 0;
      for (std::int64_t part = 0; part < planes_.parts(); ++part)
        all += sums_[static_cast<std::size_t>(planes_.item(c / kBlock, part))]
                    [static_cast<std::size_t>(c % kBlock)];
      bias_grad_[c] = static_cast<float>(all);
    }
  }

  Activation& in_;
  Activation& out_;
  bool forward_done_, backward_done_;
  float* bias_grad_;
  Planes planes_;
  std::vector<Sums> sums_;  // by block and part
};

}  // namespace

std::unique_ptr<Layer> make_relu(const LayerParts& parts) { return std::make_unique<Relu>(parts); }

}  // namespace lacuna::train
