// Selective back-propagation: only the images with the largest losses are learnt from.
#include <gtest/gtest.h>

#include "trace/testing.hpp"
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

// The gradients of the parameters are those of a batch that consists of the chosen images.
TEST(SelectiveBackprop, LearnsFromTheLargestLosses) {
  constexpr std::int64_t kBatch = 8, kKept = 3;
  TinyRun run(selective(0.375, kPlainModel));
  Network few(parse_model(kPlainModel, "tiny", {{"size", "8"}}), {kKept, Kernels::kSparse, 1});
  for (std::size_t i = 0; i < few.parameters().size(); ++i)
    std::copy_n(run.network.parameters()[i]->value.data(), few.parameters()[i]->value.size(),
                few.parameters()[i]->value.data());
  std::vector<float> images(kBatch * 3 * 8 * 8), chosen_images;
  std::vector<std::int32_t> labels(kBatch), chosen_labels;
  run.trainer.load(0, images.data(), labels.data());
  const LossResult all = run.network.forward(images.data(), labels.data(), {});
  // Each image's loss, from a batch of its own.
  Network one(parse_model(kPlainModel, "tiny", {{"size", "8"}}), {1, Kernels::kSparse, 1});
  for (std::size_t i = 0; i < one.parameters().size(); ++i)
    std::copy_n(run.network.parameters()[i]->value.data(), one.parameters()[i]->value.size(),
                one.parameters()[i]->value.data());
  std::vector<std::pair<double, std::int64_t>> losses;
  double mean = 0;
  for (std::int64_t n = 0; n < kBatch; ++n) {
    losses.emplace_back(-one.forward(images.data() + n * 192, labels.data() + n, {}).loss, n);
    mean -= losses.back().first / kBatch;
  }
  EXPECT_NEAR(all.loss, mean, 1e-5);  // of all images
  std::sort(losses.begin(), losses.end());
  for (std::int64_t i = 0; i < kKept; ++i) {
    const std::int64_t n = losses[static_cast<std::size_t>(i)].second;
    chosen_images.insert(chosen_images.end(), images.begin() + n * 192, images.begin() + (n + 1) * 192);
    chosen_labels.push_back(labels[static_cast<std::size_t>(n)]);
  }
  run.network.backward();
  few.forward(chosen_images.data(), chosen_labels.data(), {});
  few.backward();
  for (std::size_t i = 0; i < few.parameters().size(); ++i) {
    const AlignedFloats &a = few.parameters()[i]->grad, &b = run.network.parameters()[i]->grad;
    EXPECT_LE(difference({a.data(), a.data() + a.size()}, {b.data(), b.data() + b.size()}), 1e-5)
        << few.parameters()[i]->name;
  }
}

// Whole images without a gradient, in every layer: batch norm gives them none back.
TEST(SelectiveBackprop, ImagesThatAreLeftOutHaveNoGradient) {
  TinyRun run(selective(0.25));
  std::vector<float> images(8 * 3 * 8 * 8);
  std::vector<std::int32_t> labels(8);
  run.trainer.load(0, images.data(), labels.data());
  run.network.forward(images.data(), labels.data(), {});
  run.network.backward([](const ConvLayer& layer) {
    const Doubles g = plain_tensor(layer.output(), layer.multiplied_gradient());
    const auto size = static_cast<std::ptrdiff_t>(g.size() / 8);
    int without = 0;
    for (std::ptrdiff_t n = 0; n < 8; ++n)
      without +=
          std::all_of(g.begin() + n * size, g.begin() + (n + 1) * size, [](double v) { return v == 0; }) ? 1
                                                                                                         : 0;
    EXPECT_EQ(without, 6) << layer.name();
  });
  EXPECT_GE(run.trainer.zeros().gradients, 0.7);
}

TEST(SelectiveBackprop, ResumesAndTests) {
  const TemporaryFolder folder;
  TinyRun whole(selective(0.5)), begun(selective(0.5)), resumed(selective(0.5)), dense(selective(1));
  whole.run_to(10);
  begun.run_to(4);
  ASSERT_TRUE(begun.trainer.save(folder / "c", {}));
  resumed.trainer.resume(folder / "c", {});
  resumed.run_to(10);
  EXPECT_EQ(values_of(resumed.network), values_of(whole.network));
  EXPECT_NE(error_of([&] { dense.trainer.resume(folder / "c", {}); }).find("its run had selective='0.5'"),
            std::string::npos);
  dense.run_to(10);
  EXPECT_NE(values_of(dense.network), values_of(whole.network));
}

}  // namespace
}  // namespace lacuna::train
