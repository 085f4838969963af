// Selective back-propagation: images with large losses are learnt from more often.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "base/testing.hpp"
#include "train/testing/plain_products.hpp"
#include "train/testing/tiny_run.hpp"

namespace lacuna::train {
namespace {

TinyOptions selective(double share, const char* model = kRichModel) {
  TinyOptions options;
  options.model = model;
  options.network.learnt_samples = share;
  return options;
}

void copy_parameters(Network& from, Network& to) {
  for (std::size_t i = 0; i < to.parameters().size(); ++i)
    std::copy_n(from.parameters()[i]->value.data(), to.parameters()[i]->value.size(),
                to.parameters()[i]->value.data());
}

struct SelectiveStep {
  explicit SelectiveStep(const TinyOptions& options) : run(options) {
    run.trainer.load(0, images.data(), labels.data());
  }
  // Which images have a gradient, by layer.
  std::map<std::string, std::vector<bool>> learnt(std::uint64_t seed) {
    loss = run.network.forward(images.data(), labels.data(), {.seed = seed}).loss;
    std::map<std::string, std::vector<bool>> found;
    run.network.backward([&](const ConvLayer& layer) {
      const Doubles g = plain_tensor(layer.output(), layer.multiplied_gradient());
      const auto size = static_cast<std::ptrdiff_t>(g.size() / 8);
      for (std::ptrdiff_t n = 0; n < 8; ++n)
        found[layer.name()].push_back(
            std::any_of(g.begin() + n * size, g.begin() + (n + 1) * size, [](double v) { return v != 0; }));
    });
    return found;
  }

  TinyRun run;
  std::vector<float> images = std::vector<float>(8 * 192);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(8);
  double loss = 0;
};

// The gradients of the parameters are those of a batch that consists of the chosen images.
TEST(SelectiveBackprop, LearnsFromTheChosenImages) {
  SelectiveStep step(selective(0.5, kPlainModel));
  const auto learnt = step.learnt(3).at("c");
  std::vector<float> chosen_images;
  std::vector<std::int32_t> chosen_labels;
  for (std::size_t n = 0; n < 8; ++n) {
    if (!learnt[n]) continue;
    const auto at = step.images.begin() + static_cast<std::ptrdiff_t>(n * 192);
    chosen_images.insert(chosen_images.end(), at, at + 192);
    chosen_labels.push_back(step.labels[n]);
  }
  const auto kept = static_cast<std::int64_t>(chosen_labels.size());
  ASSERT_GT(kept, 1);
  ASSERT_LT(kept, 8);
  Network few(parse_model(kPlainModel, "tiny", {{"size", "8"}}), {kept, Kernels::kSparse, 1});
  copy_parameters(step.run.network, few);
  few.forward(chosen_images.data(), chosen_labels.data(), {});
  few.backward();
  for (std::size_t i = 0; i < few.parameters().size(); ++i) {
    const AlignedFloats &a = few.parameters()[i]->grad, &b = step.run.network.parameters()[i]->grad;
    EXPECT_LE(difference({a.data(), a.data() + a.size()}, {b.data(), b.data() + b.size()}), 1e-5)
        << few.parameters()[i]->name;
  }
}

// Over many draws, an image is chosen as often as its place among the losses says. The reported loss is that
// of all images.
TEST(SelectiveBackprop, LargeLossesAreChosenMoreOften) {
  constexpr int kDraws = 2000;
  constexpr double kShare = 0.4;
  SelectiveStep step(selective(kShare, "model: m\nlayers:\n  - linear: {name: c, out: $classes}\n"));
  std::vector<int> chosen(8);
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto learnt = step.learnt(static_cast<std::uint64_t>(draw)).at("c");
    for (std::size_t n = 0; n < 8; ++n) chosen[n] += learnt[n] ? 1 : 0;
  }
  Network one(step.run.network.graph(), {1, Kernels::kSparse, 1});
  copy_parameters(step.run.network, one);
  std::vector<std::pair<double, std::size_t>> losses;
  double mean = 0;
  for (std::size_t n = 0; n < 8; ++n) {
    losses.emplace_back(one.forward(step.images.data() + n * 192, step.labels.data() + n, {}).loss, n);
    mean += losses.back().first / 8;
  }
  EXPECT_NEAR(step.loss, mean, 1e-5);
  std::sort(losses.begin(), losses.end());
  for (std::size_t place = 0; place < 8; ++place) {
    const double expected = place == 7 ? 1 : std::pow((static_cast<double>(place) + 0.5) / 8, 1 / kShare - 1);
    EXPECT_NEAR(chosen[losses[place].second] / static_cast<double>(kDraws), expected, 0.05) << place;
  }
}

// Whole images without a gradient, the same in every layer: batch norm gives them none back.
TEST(SelectiveBackprop, ImagesThatAreLeftOutHaveNoGradient) {
  SelectiveStep step(selective(0.3));
  const auto learnt = step.learnt(5);
  EXPECT_EQ(learnt.size(), 4u);
  EXPECT_LT(std::ranges::count(learnt.at("c"), true), 7);
  for (const auto& [name, images] : learnt) EXPECT_EQ(images, learnt.at("c")) << name;
  EXPECT_GE(step.run.trainer.zeros().gradients, 0.1);
}

TEST(SelectiveBackprop, ResumesAndTests) {
  ResumedRun run(selective(0.5));
  TinyRun dense(selective(1));
  EXPECT_EQ(values_of(run.resumed.network), values_of(run.whole.network));
  EXPECT_NE(error_of([&] { dense.trainer.resume(run.file, {}); }).find("its run had selective='0.5'"),
            std::string::npos);
  dense.run_to(10);
  EXPECT_NE(values_of(dense.network), values_of(run.whole.network));
}

}  // namespace
}  // namespace lacuna::train
