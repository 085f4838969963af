// Layers that oneDNN 2.6 has no primitive for: dropout, and scaling and shifting by one learnt number (its
// eltwise_linear takes the numbers when the primitive is made, but they change in each step).
#include <algorithm>

#include "base/ceil_div.hpp"
#include "base/hash.hpp"
#include "base/random.hpp"
#include "train/layers/layers.hpp"

namespace lacuna::train {
namespace {

// The choice of dropped values depends only on the seed of the pass, the name of the layer and the position.
class Dropout final : public OneInputLayer {
 public:
  explicit Dropout(const LayerParts& parts)
      : OneInputLayer(*parts.in[0], parts.out, parts.threads),
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

  void input_gradient(float* diff_src) override {
    const std::int64_t floats = in_.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < floats; ++i) diff_src[i] = out_.grad[i] * factors_[i];
  }

 private:
  double rate_;
  std::uint64_t salt_;
  AlignedFloats factors_;
};

// Adds term(i) for i below `count` in parts of one size, so that the bits do not depend on the number of
// threads.
template <typename Term>
float sum_of_parts(std::int64_t count, int threads, const Term& term) {
  constexpr std::int64_t kPart = 1 << 14;
  std::vector<double> sums(static_cast<std::size_t>(ceil_div(count, kPart)));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t part = 0; part < sums.size(); ++part) {
    double sum = 0;
    const auto begin = static_cast<std::int64_t>(part) * kPart;
    const std::int64_t end = std::min(count, begin + kPart);
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) sum += term(i);
    sums[part] = sum;
  }
  double sum = 0;
  for (const double part : sums) sum += part;
  return static_cast<float>(sum);
}

class Scalar final : public OneInputLayer {
 public:
  explicit Scalar(const LayerParts& parts)
      : OneInputLayer(*parts.in[0], parts.out, parts.threads),
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
    if (shift != 0) clear_padding();
  }

  void backward(GradientSum& sum) override {
    const float* grad = out_.grad;
    const float* in = in_.data.data();
    number_.grad[0] = scales_
                          ? sum_of_parts(in_.floats(), threads_,
                                         [=](std::int64_t i) { return static_cast<double>(grad[i]) * in[i]; })
                          : sum_of_parts(in_.floats(), threads_,
                                         [=](std::int64_t i) { return static_cast<double>(grad[i]); });
    OneInputLayer::backward(sum);
  }

  void input_gradient(float* diff_src) override {
    const float scale = scales_ ? number_.value[0] : 1;
    const std::int64_t floats = in_.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < floats; ++i) diff_src[i] = scale * out_.grad[i];
  }

  std::vector<Parameter*> parameters() override { return {&number_}; }

 private:
  // Channels past the last stay zero.
  void clear_padding() {
    const std::int64_t used = out_.shape.c % 16;
    for (std::int64_t n = 1; used != 0 && n <= out_.n; ++n) {
      float* last = out_.data.data() + (n * out_.blocks() - 1) * out_.pixels() * 16;
      for (std::int64_t p = 0; p < out_.pixels(); ++p)
        std::fill(last + p * 16 + used, last + (p + 1) * 16, 0.0F);
    }
  }

  bool scales_;
  Parameter number_;
};

}  // namespace

std::unique_ptr<Layer> make_dropout(const LayerParts& parts) { return std::make_unique<Dropout>(parts); }
std::unique_ptr<Layer> make_scalar(const LayerParts& parts) { return std::make_unique<Scalar>(parts); }

}  // namespace lacuna::train
