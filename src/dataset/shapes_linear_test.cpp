// Difficulty of the built-in set for a linear classifier of pixels: multinomial logistic regression, trained
// to convergence at several strengths of regularisation, of which the best on the test part counts.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <vector>

#include "dataset/loader.hpp"
#include "dataset/shapes.hpp"

namespace lacuna::dataset {
namespace {

constexpr int kClasses = 10;
constexpr int kPixels = 3 * 32 * 32;
constexpr int kBatch = 50;

class LinearClassifier {
 public:
  using Scores = std::array<float, kClasses>;

  Scores scores(const float* image) const {
    Scores result = bias_;
    for (std::size_t k = 0; k < kClasses; ++k) {
      std::array<float, 16> sums{};  // sixteen sums, so that the compiler may use vectors
      for (std::size_t i = 0; i < kPixels; i += 16) {
        for (std::size_t j = 0; j < 16; ++j) sums[j] += weights_[k * kPixels + i + j] * image[i + j];
      }
      for (const float sum : sums) result[k] += sum;
    }
    return result;
  }

  // One step of gradient descent with momentum on cross entropy + decay / 2 * |weights|^2.
  void learn(const std::vector<float>& images, const std::vector<std::int32_t>& labels, float rate,
             float decay) {
    for (std::size_t i = 0; i < weights_.size(); ++i) slope_[i] = 0.9F * slope_[i] + decay * weights_[i];
    for (float& value : bias_slope_) value *= 0.9F;
    for (std::size_t n = 0; n < labels.size(); ++n) {
      const float* image = images.data() + n * kPixels;
      Scores share = scores(image);
      const float highest = *std::max_element(share.begin(), share.end());
      float sum = 0;
      for (float& value : share) sum += value = std::exp(value - highest);
      for (std::size_t k = 0; k < kClasses; ++k) {
        const float target = static_cast<std::size_t>(labels[n]) == k ? 1.0F : 0.0F;
        const float error = (share[k] / sum - target) / static_cast<float>(labels.size());
        bias_slope_[k] += error;
        for (std::size_t i = 0; i < kPixels; ++i) slope_[k * kPixels + i] += error * image[i];
      }
    }
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] -= rate * slope_[i];
    for (std::size_t k = 0; k < kClasses; ++k) bias_[k] -= rate * bias_slope_[k];
  }

  double accuracy(const Dataset& data) const {
    std::vector<float> image(kPixels);
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < data.size(); ++i) {
      const int label = data.read(i, image.data());
      const Scores result = scores(image.data());
      if (std::max_element(result.begin(), result.end()) - result.begin() == label) ++right;
    }
    return static_cast<double>(right) / static_cast<double>(data.size());
  }

 private:
  std::vector<float> weights_ = std::vector<float>(std::size_t{kClasses} * kPixels);
  std::vector<float> slope_ = std::vector<float>(std::size_t{kClasses} * kPixels);
  Scores bias_{};
  Scores bias_slope_{};
};

TEST(ShapesLinear, ALinearClassifierStaysBelow60Percent) {
  const DatasetPair pair = open_dataset("shapes", {});
  const Loader loader(*pair.train, {.batch = kBatch});
  std::vector<float> images(std::size_t{kBatch} * kPixels);
  std::vector<std::int32_t> labels(kBatch);
  double best_train = 0;
  double best_test = 0;
  for (const float decay : {0.0F, 0.03F, 0.3F, 3.0F}) {
    LinearClassifier classifier;
    const std::int64_t steps = 40 * loader.steps_per_epoch();
    for (std::int64_t step = 0; step < steps; ++step) {
      loader.load(step, images.data(), labels.data());
      const float left = 1 - static_cast<float>(step) / static_cast<float>(steps);
      classifier.learn(images, labels, 0.002F * left, decay);
    }
    const double train = classifier.accuracy(*pair.train);
    const double test = classifier.accuracy(*pair.test);
    std::printf("L2 %g: %.1f %% of the training part, %.1f %% of the test part\n", decay, 100 * train,
                100 * test);
    best_train = std::max(best_train, train);
    best_test = std::max(best_test, test);
  }
  EXPECT_LT(best_test, 0.60);
  // The classifier has learnt: with 30,720 weights it fits most of the 4,000 training images, and it beats
  // chance.
  EXPECT_GT(best_train, 0.75);
  EXPECT_GT(best_test, 0.15);
}

}  // namespace
}  // namespace lacuna::dataset
