// Quantization: values, products and runs.
#include "train/sparsity/quantize.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/testing.hpp"
#include "train/testing/plain_products.hpp"
#include "train/testing/tiny_run.hpp"

namespace lacuna::train {
namespace {

// The nearest multiple of the step, by trying all of them.
float nearest_level(float value, float most, bool negative, int bits) {
  const int levels = negative ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  float best = 0;
  for (int i = negative ? -levels : 0; i <= levels; ++i) {
    const float level = static_cast<float>(i) * (most / static_cast<float>(levels));
    if (std::fabs(level - value) < std::fabs(best - value)) best = level;
  }
  return best;
}

TEST(Quantize, TakesTheNearestLevel) {
  Random random(8);
  for (int bits = kFewestBits; bits <= kMostBits; ++bits)
    for (const bool negative : {false, true}) {
      std::vector<float> values(200);
      for (float& v : values) v = static_cast<float>(random.uniform() - (negative ? 0.4 : 0));
      values[7] = 0;
      float most = 0;
      for (const float v : values) most = std::max(most, std::fabs(v));
      std::vector<float> rounded(values.size());
      std::int64_t nonzeros = 0;
      const std::int64_t counted = quantize(values.data(), 200, bits, rounded.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(rounded[i], nearest_level(values[i], most, negative, bits), 1e-5F) << values[i];
        nonzeros += rounded[i] != 0 ? 1 : 0;
      }
      EXPECT_EQ(counted, nonzeros);
      EXPECT_EQ(rounded[7], 0);
      quantize(values.data(), 200, bits, values.data());  // in place
      EXPECT_EQ(values, rounded);
    }
}

TEST(Quantize, ValuesWithoutALevelStay) {
  std::vector<float> zeros(5), rounded(5, 1);
  EXPECT_EQ(quantize(zeros.data(), 5, 4, rounded.data()), 0);
  EXPECT_EQ(rounded, zeros);
  const std::vector<float> tiny = {1e-42F, 0, -1e-43F};
  rounded.resize(3);
  EXPECT_EQ(quantize(tiny.data(), 3, 4, rounded.data()), 2);
  EXPECT_EQ(rounded, tiny);
}

TinyOptions quantized(int bits) {
  TinyOptions options;
  options.network.quantize_bits = bits;
  return options;
}

// Weights by layer, activations by image, in all three products; gradients and updates are in full.
TEST(Quantize, MultipliesRoundedValues) {
  TinyRun run(quantized(3));
  std::vector<float> images(8 * 3 * 8 * 8);
  std::vector<std::int32_t> labels(8);
  run.trainer.load(0, images.data(), labels.data());
  run.network.forward(images.data(), labels.data(), {});
  Doubles input, a, w, g;
  LayerShape shape;
  run.network.backward([&](const ConvLayer& layer) {
    EXPECT_EQ(layer.multiplied_gradient(), layer.output().grad);
    if (layer.name() != "b") {  // the first and the last
      EXPECT_EQ(layer.multiplied_input(), layer.input().data.data());
      EXPECT_EQ(layer.multiplied_weights(), layer.weights().value.data());
      return;
    }
    shape = layer.shape();
    input = plain_tensor(layer.input(), layer.input().data.data());
    a = plain_tensor(layer.input(), layer.multiplied_input());
    g = plain_tensor(layer.output(), layer.multiplied_gradient());
    w = {layer.multiplied_weights(), layer.multiplied_weights() + layer.weights().value.size()};
  });
  const std::size_t size = a.size() / 8;
  for (std::size_t n = 0; n < 8; ++n) {
    std::vector<float> image, rounded(size);
    for (std::size_t i = 0; i < size; ++i) image.push_back(static_cast<float>(input[n * size + i]));
    quantize(image.data(), static_cast<std::int64_t>(size), 3, rounded.data());
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(a[n * size + i], static_cast<double>(rounded[i]));
  }
  for (const Parameter* p : run.network.parameters()) {
    const Doubles found(p->grad.data(), p->grad.data() + p->grad.size());
    if (p->name != "b.weight") continue;
    EXPECT_LE(difference(plain_weight_grad(shape, a, g), found), 2e-5);
    std::vector<float> rounded(static_cast<std::size_t>(p->value.size()));
    quantize(p->value.data(), p->value.size(), 3, rounded.data());
    EXPECT_EQ(w, Doubles(rounded.begin(), rounded.end()));
  }
  EXPECT_GT(*run.trainer.weight_zeros(), 0.1);
  EXPECT_GT(run.trainer.zeros().activations, 0.3);
}

TEST(Quantize, ResumesAndTests) {
  ResumedRun run(quantized(4));
  TinyRun other(quantized(5));
  EXPECT_EQ(values_of(run.resumed.network), values_of(run.whole.network));
  EXPECT_EQ(run.resumed.trainer.test().loss, run.whole.trainer.test().loss);
  EXPECT_NE(error_of([&] { other.trainer.resume(run.file, {}); }).find("its run had quantize='4'"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna::train
