// Batch norm, with the addition and the ReLU that follow it, in two passes each way: statistics, then the
// output; sums of the gradient, then the gradient of the input.
#include <array>
#include <cmath>
#include <vector>

#include "train/layers/layers.hpp"
#include "train/layers/planes.hpp"
#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr float kMomentum = 0.1F;  // weight of the newest batch in the running mean and variance

// Variances are sums of squares of distances from the mean of this many pixels. Those are part of the batch:
// if they are at a distance d from its mean, its variance is at least d^2 times their share of the batch, so
// that the difference of two sums which gives the variance loses no more digits than that share has.
constexpr std::int64_t kOriginPixels = 256;

class BatchNorm final : public Layer {
 public:
  explicit BatchNorm(const LayerParts& parts)
      : in_(*parts.in[0]),
        other_(parts.in.size() > 1 ? parts.in[1] : nullptr),
        out_(parts.out),
        relu_(parts.relu_follows),
        planes_(in_, parts.threads),
        scale_(parts.node.name + ".weight", Parameter::Kind::kNorm, {in_.shape.c}),
        shift_(parts.node.name + ".bias", Parameter::Kind::kNorm, {in_.shape.c}),
        running_mean_(parts.node.name + ".running_mean", Parameter::Kind::kBuffer, {in_.shape.c}),
        running_variance_(parts.node.name + ".running_var", Parameter::Kind::kBuffer, {in_.shape.c}),
        deviation_(static_cast<std::size_t>(in_.shape.c)),
        sums_(static_cast<std::size_t>(planes_.blocks() * planes_.parts())) {
    for (AlignedFloats* lanes :
         {&origin_, &mean_, &by_x_, &offset_, &diff_by_gradient_, &diff_by_x_, &diff_constant_})
      *lanes = AlignedFloats(planes_.blocks() * kBlock);
    for (std::int64_t i = 0; i < in_.shape.c; ++i) scale_.value[i] = running_variance_.value[i] = 1;
  }

  void forward(const Pass& pass) override {
    const Passes& run = passes();
    const auto write = [&](std::int64_t block, std::int64_t part) {
      planes_.each_image_backwards(block, part, [&](std::int64_t at) {
        run.normalize({in_.data.data() + at, other_ == nullptr ? nullptr : other_->data.data() + at,
                       out_.data.data() + at, planes_.pixels(), by_x_.data() + block * kBlock,
                       offset_.data() + block * kBlock, relu_});
      });
    };
    if (!pass.training) {
      for (std::int64_t c = 0; c < in_.shape.c; ++c)
        set_factors(c, static_cast<double>(running_mean_.value[c]),
                    static_cast<double>(running_variance_.value[c]));
      return planes_.each_part(write);
    }
    planes_.two_passes(
        1, [&](std::int64_t block) { find_origin(block); },
        [&](std::int64_t block, std::int64_t part) {
          Sums& sums = sums_[static_cast<std::size_t>(planes_.item(block, part))] = {};
          planes_.each_image(block, part, [&](std::int64_t at) {
            run.moments(in_.data.data() + at, planes_.pixels(), origin_.data() + block * kBlock,
                        sums.first.data(), sums.second.data());
          });
        },
        [&](std::int64_t block) { use_statistics(block); }, write);
  }

  void backward(GradientSum& sum) override {
    const Passes& run = passes();
    // If the other part has this memory as its gradient, it counts as delivered: it may be this norm's
    // input.
    const bool shared = other_ != nullptr && other_->grad == out_.grad;
    if (shared) sum.copy(out_, *other_);
    // Both may be the same memory: what the second pass writes the first has read.
    const float* late = sum.take_late(out_);
    float* diff_src = sum.begin(in_);
    using Mask = NormSumsPass::Mask;
    const Mask mask = !relu_ ? Mask::kNone : other_ != nullptr ? Mask::kOutput : Mask::kInput;
    planes_.two_passes(
        2, [](std::int64_t) {},
        [&](std::int64_t block, std::int64_t part) {
          Sums& sums = sums_[static_cast<std::size_t>(planes_.item(block, part))] = {};
          const std::int64_t lanes = block * kBlock;
          planes_.each_image(block, part, [&](std::int64_t at) {
            run.norm_sums({in_.data.data() + at, out_.data.data() + at, out_.grad + at,
                           late == nullptr ? nullptr : late + at, planes_.pixels(), mean_.data() + lanes,
                           by_x_.data() + lanes, offset_.data() + lanes, mask, sums.first.data(),
                           sums.second.data()});
          });
        },
        [&](std::int64_t block) { use_gradient_sums(block); },
        [&](std::int64_t block, std::int64_t part) {
          if (diff_src == nullptr) return;  // a norm of the images
          const std::int64_t lanes = block * kBlock;
          planes_.each_image_backwards(block, part, [&](std::int64_t at) {
            run.norm_gradient({in_.data.data() + at, out_.grad + at, diff_src + at, planes_.pixels(),
                               mean_.data() + lanes, by_x_.data() + lanes, offset_.data() + lanes,
                               diff_by_gradient_.data() + lanes, diff_by_x_.data() + lanes,
                               diff_constant_.data() + lanes, mask == Mask::kInput});
          });
        });
    sum.end(in_);
    if (other_ != nullptr && !shared) sum.copy(out_, *other_);
  }

  std::vector<Parameter*> parameters() override {
    return {&scale_, &shift_, &running_mean_, &running_variance_};
  }

 private:
  struct Sums {
    std::array<double, kBlock> first, second;
  };

  double count() const { return static_cast<double>(in_.n * planes_.pixels()); }

  void find_origin(std::int64_t block) {
    const std::array<float, kBlock> zeros{};
    Sums sums{};
    const std::int64_t pixels = std::min(kOriginPixels, planes_.pixels());
    passes().moments(in_.data.data() + block * planes_.pixels() * kBlock, pixels, zeros.data(),
                     sums.first.data(), sums.second.data());
    for (std::size_t lane = 0; lane < kBlock; ++lane)
      origin_[block * kBlock + static_cast<std::int64_t>(lane)] =
          static_cast<float>(sums.first[lane] / static_cast<double>(pixels));
  }

  // use(channel, its sums): those of the parts added in their order.
  template <typename Use>
  void each_channel(std::int64_t block, const Use& use) {
    Sums all{};
    for (std::int64_t part = 0; part < planes_.parts(); ++part) {
      const Sums& sums = sums_[static_cast<std::size_t>(planes_.item(block, part))];
      for (std::size_t lane = 0; lane < kBlock; ++lane) {
        all.first[lane] += sums.first[lane];
        all.second[lane] += sums.second[lane];
      }
    }
    for (std::int64_t c = block * kBlock; c < std::min((block + 1) * kBlock, in_.shape.c); ++c)
      use(c, all.first[static_cast<std::size_t>(c % kBlock)],
          all.second[static_cast<std::size_t>(c % kBlock)]);
  }

  void set_factors(std::int64_t c, double mean, double variance) {
    deviation_[static_cast<std::size_t>(c)] = std::sqrt(variance + kEpsilon);
    by_x_[c] =
        static_cast<float>(static_cast<double>(scale_.value[c]) / deviation_[static_cast<std::size_t>(c)]);
    offset_[c] =
        static_cast<float>(static_cast<double>(shift_.value[c]) - mean * static_cast<double>(by_x_[c]));
  }

  // The running variance is unbiased, as in PyTorch.
  void use_statistics(std::int64_t block) {
    const double unbiased = count() > 1 ? count() / (count() - 1) : 1;
    each_channel(block, [&](std::int64_t c, double sum, double squares) {
      const double distance = sum / count();
      const double mean = static_cast<double>(origin_[c]) + distance;
      const double variance = squares / count() - distance * distance;
      // Rounding may leave less than nothing; NaN stays.
      set_factors(c, mean, variance < 0 ? 0 : variance);
      mean_[c] = static_cast<float>(mean);
      running_mean_.value[c] += kMomentum * (mean_[c] - running_mean_.value[c]);
      running_variance_.value[c] +=
          kMomentum *
          (static_cast<float>(unbiased * (variance < 0 ? 0 : variance)) - running_variance_.value[c]);
    });
  }

  void use_gradient_sums(std::int64_t block) {
    each_channel(block, [&](std::int64_t c, double sum, double products) {
      const double deviation = deviation_[static_cast<std::size_t>(c)];
      const double factor = static_cast<double>(scale_.value[c]) / deviation;
      shift_.grad[c] = static_cast<float>(sum);
      scale_.grad[c] = static_cast<float>(products / deviation);
      diff_by_gradient_[c] = static_cast<float>(factor);
      diff_by_x_[c] = static_cast<float>(-factor * products / (count() * deviation * deviation));
      diff_constant_[c] = static_cast<float>(-factor * sum / count());
    });
  }

  Activation& in_;
  Activation* other_;  // the other part of the sum that this layer computes, or null
  Activation& out_;
  bool relu_;
  Planes planes_;
  Parameter scale_, shift_, running_mean_, running_variance_;
  std::vector<double> deviation_;
  std::vector<Sums> sums_;  // by block and part
  // By channel; zero past the last. Normalised: by_x * x + offset.
  AlignedFloats origin_, mean_, by_x_, offset_, diff_by_gradient_, diff_by_x_, diff_constant_;
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(const LayerParts& parts) { return std::make_unique<BatchNorm>(parts); }

}  // namespace lacuna::train
