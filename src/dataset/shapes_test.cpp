#include "dataset/shapes.hpp"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace lacuna::dataset {
namespace {

std::vector<std::uint8_t> drawn(std::uint64_t seed, Part part, std::int64_t index, int size) {
  std::vector<std::uint8_t> planes(static_cast<std::size_t>(3 * size * size));
  EXPECT_EQ(draw_shape(seed, part, index, size, planes.data()), index % 10);
  return planes;
}

// FNV-1a.
std::uint64_t hash(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const std::uint8_t byte : bytes) value = (value ^ byte) * 0x100000001b3ULL;
  return value;
}

std::string error_of(const DatasetOptions& options) {
  try {
    open_shapes(options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Shapes, DefaultsAndBalance) {
  const DatasetPair pair = open_dataset("shapes", {});
  EXPECT_EQ(pair.train->name(), "shapes");
  EXPECT_EQ(pair.train->shape(), (ImageShape{3, 32, 32}));
  EXPECT_EQ(pair.train->size(), 4000);
  EXPECT_EQ(pair.test->size(), 1000);
  EXPECT_EQ(pair.train->classes().size(), 10u);
  EXPECT_EQ(pair.train->classes(), pair.test->classes());
  for (const Dataset* part : {pair.train.get(), pair.test.get()}) {
    std::array<int, 10> labels{};
    std::vector<float> image(3 * 32 * 32);
    for (std::int64_t i = 0; i < part->size(); ++i) {
      const int label = part->read(i, image.data());
      ASSERT_TRUE(label >= 0 && label < 10);
      ++labels[static_cast<std::size_t>(label)];
    }
    for (const int count : labels) EXPECT_EQ(count, part->size() / 10);
  }
}

// The images are part of our results: one changed byte changes every trace recorded from them.
TEST(Shapes, TheSameBytesEverywhere) {
  EXPECT_EQ(hash(drawn(1, Part::kTrain, 0, 32)), 0x07d25d8e0a745f5eULL);
  EXPECT_EQ(hash(drawn(1, Part::kTrain, 7, 32)), 0x9102723737168b50ULL);
  EXPECT_EQ(hash(drawn(1, Part::kTest, 3999, 32)), 0x85b4c2994c4ecb17ULL);
  EXPECT_EQ(hash(drawn(2, Part::kTrain, 5, 8)), 0x65a9252540cfd670ULL);
  EXPECT_EQ(hash(drawn(12345, Part::kTest, 16, 224)), 0x6c62d1db098ea4ccULL);
  EXPECT_EQ(hash(drawn(1, Part::kTrain, 9, 33)), 0x3081d828e1a006ffULL);
}

TEST(Shapes, NoTwoImagesAreTheSame) {
  std::set<std::uint64_t> seen;
  int images = 0;
  for (const std::uint64_t seed : {1, 2}) {
    for (const Part part : {Part::kTrain, Part::kTest}) {
      for (std::int64_t i = 0; i < 1000; ++i, ++images) seen.insert(hash(drawn(seed, part, i, 16)));
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(images));
}

TEST(Shapes, ReadNormalisesTheDrawing) {
  // The second set is too large to be kept: its images are drawn whenever they are read.
  for (const std::int64_t count : {std::int64_t{20}, std::int64_t{1} << 30}) {
    const DatasetPair pair = open_shapes({.image_size = 12, .train_size = count, .test_size = 10, .seed = 5});
    ASSERT_EQ(pair.train->size(), count);
    std::vector<float> image(3 * 12 * 12);
    for (const std::int64_t index : {std::int64_t{0}, std::int64_t{7}, count - 1}) {
      const auto bytes = drawn(5, Part::kTrain, index, 12);
      EXPECT_EQ(pair.train->read(index, image.data()), index % 10);
      for (std::size_t i = 0; i < image.size(); ++i) {
        EXPECT_FLOAT_EQ(image[i], (static_cast<float>(bytes[i]) / 255.0F - kShapesMean) / kShapesDeviation);
      }
    }
  }
}

TEST(Shapes, AboutZeroMeanAndUnitVariance) {
  const DatasetPair pair = open_dataset("shapes", {});
  std::vector<float> image(3 * 32 * 32);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < pair.train->size(); ++i) {
      pair.train->read(i, image.data());
      for (std::size_t at = channel * 1024; at < (channel + 1) * 1024; ++at) {
        sum += image[at];
        squares += image[at] * image[at];
      }
    }
    const double count = 1024.0 * static_cast<double>(pair.train->size());
    EXPECT_NEAR(sum / count, 0, 0.02);
    EXPECT_NEAR(std::sqrt(squares / count), 1, 0.02);
  }
}

TEST(Shapes, RefusesWhatItCannotDraw) {
  EXPECT_EQ(error_of({.image_size = 7}),
            "shapes: images of 7x7 cannot be drawn; use an image size from 8 to 1024");
  EXPECT_EQ(error_of({.image_size = 1025}),
            "shapes: images of 1025x1025 cannot be drawn; use an image size from 8 to 1024");
  EXPECT_EQ(error_of({.train_size = -1}),
            "shapes: a training part of -1 images cannot be drawn; use 1 to 1099511627776, or 0 for 4000");
  EXPECT_EQ(error_of({.test_size = (std::int64_t{1} << 40) + 1}),
            "shapes: a test part of 1099511627777 images cannot be drawn; use 1 to 1099511627776, or 0 for "
            "1000");
  EXPECT_EQ(error_of({.image_size = 8, .train_size = 1, .test_size = 1}), "no error");
}

}  // namespace
}  // namespace lacuna::dataset
