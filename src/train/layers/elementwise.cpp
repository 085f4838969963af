// Layers that oneDNN 2.6 has no primitive for: dropout, and scaling and shifting by one learnt number (its
// eltwise_linear takes the numbers when the primitive is made, but they change in each step).
#include "base/hash.hpp"
#include "base/random.hpp"
#include "train/layers/channel_sums.hpp"
#include "train/layers/layers.hpp"

namespace lacuna::train {
namespace {

// Which values are dropped depends only on the seed of the pass, the name of the layer and the position.
class Dropout final : public Layer {
 public:
  explicit Dropout(const LayerParts& parts)
      : in_(*parts.in[0]),
        out_(parts.out),
        threads_(parts.threads),
        rate_(parts.node.rate),
        salt_(hash_text(parts.node.name)),
        factors_(in_.floats()) {}

  void forward(const Pass& pass) override {
    const std::int64_t floats = in_.floats();
    const auto keep = static_cast<float>(1 / (1 - rate_));
    const std::uint64_t seed = Random(pass.seed ^ salt_).bits();
    const auto limit = static_cast<std::uint64_t>(rate_ * 0x1.0p53);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < floats; ++i) {
      const bool dropped =
          pass.training && (Random(seed + static_cast<std::uint64_t>(i)).bits() >> 11) < limit;
      factors_[i] = !pass.training ? 1 : dropped ? 0 : keep;
      out_.data[i] = in_.data[i] * factors_[i];
    }
  }

  void backward(GradientSum& sum) override {
    float* diff_src = sum.begin(in_);
    if (diff_src == nullptr) return;
    const std::int64_t floats = in_.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < floats; ++i) diff_src[i] = out_.grad[i] * factors_[i];
    sum.end(in_);
  }

 private:
  Activation& in_;
  Activation& out_;
  int threads_;
  double rate_;
  std::uint64_t salt_;
  AlignedFloats factors_;
};

class Scalar final : public Layer {
 public:
  explicit Scalar(const LayerParts& parts)
      : in_(*parts.in[0]),
        out_(parts.out),
        threads_(parts.threads),
        scales_(parts.node.kind == NodeKind::kScalarScale),
        number_(parts.node.name + (scales_ ? ".scale" : ".bias"), Parameter::Kind::kScalar, {1}) {
    number_.value[0] = scales_ ? 1 : 0;
  }

  void forward(const Pass&) override {
    const float scale = scales_ ? number_.value[0] : 1;
    const float shift = scales_ ? 0 : number_.value[0];
    const std::int64_t floats = in_.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < floats; ++i) out_.data[i] = scale * in_.data[i] + shift;
    if (shift != 0) clear_padding(out_);
  }

  void backward(GradientSum& sum) override {
    number_.grad[0] = static_cast<float>(scales_ ? dot(out_.grad, in_.data.data(), in_.floats(), threads_)
                                                 : total(out_.grad, in_.floats(), threads_));
    float* diff_src = sum.begin(in_);
    if (diff_src == nullptr) return;
    const float scale = scales_ ? number_.value[0] : 1;
    const std::int64_t floats = in_.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < floats; ++i) diff_src[i] = scale * out_.grad[i];
    sum.end(in_);
  }

  std::vector<Parameter*> parameters() override { return {&number_}; }

 private:
  Activation& in_;
  Activation& out_;
  int threads_;
  bool scales_;
  Parameter number_;
};

}  // namespace

std::unique_ptr<Layer> make_dropout(const LayerParts& parts) { return std::make_unique<Dropout>(parts); }
std::unique_ptr<Layer> make_scalar(const LayerParts& parts) { return std::make_unique<Scalar>(parts); }

}  // namespace lacuna::train
