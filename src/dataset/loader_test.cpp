#include "dataset/loader.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "dataset/streams.hpp"

namespace lacuna::dataset {
namespace {

// A data set whose every value identifies its image and position: image * 100 + position + 1, never zero.
class Counting final : public Dataset {
 public:
  explicit Counting(std::int64_t count, ImageShape shape = {2, 3, 4})
      : Dataset({"counting", shape, {"a", "b", "c", "d", "e", "f", "g"}, count}) {}
  int read(std::int64_t index, float* image) const override {
    if (index == bad_) throw InputError("counting", "image is bad", "use another");
    for (int i = 0; i < shape().size(); ++i) image[i] = static_cast<float>(index * 100 + i + 1);
    return static_cast<int>(index % 7);
  }
  void spoil(std::int64_t index) { bad_ = index; }

 private:
  std::int64_t bad_ = -1;
};

struct Batch {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  bool operator==(const Batch&) const = default;
};

Batch batch_of(const Loader& loader, std::int64_t step) {
  Batch batch;
  batch.labels.resize(static_cast<std::size_t>(loader.options().batch), -1);
  batch.images.resize(batch.labels.size() * static_cast<std::size_t>(loader.data().shape().size()));
  loader.load(step, batch.images.data(), batch.labels.data());
  return batch;
}

// Returns the images of a batch, found by their first values (without augmentation).
std::vector<std::int64_t> indices(const Batch& batch) {
  const std::size_t size = batch.images.size() / batch.labels.size();
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    result.push_back((static_cast<std::int64_t>(batch.images[i * size]) - 1) / 100);
    EXPECT_EQ(batch.labels[i], result.back() % 7);
  }
  return result;
}

TEST(Permutation, HoldsEveryNumberOnce) {
  for (const std::int64_t count : {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 4097}) {
    const Permutation order(count, 42);
    std::vector<std::int64_t> places(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) places[static_cast<std::size_t>(i)] = order(i);
    std::sort(places.begin(), places.end());
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(places[static_cast<std::size_t>(i)], i) << count;
  }
}

// Over many seeds every number takes every place about equally often.
TEST(Permutation, IsFair) {
  constexpr std::int64_t kCount = 11;
  constexpr int kDraws = 11000;
  std::vector<int> seen(kCount * kCount);
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const Permutation order(kCount, seed);
    for (std::int64_t i = 0; i < kCount; ++i) ++seen[static_cast<std::size_t>(i * kCount + order(i))];
  }
  double chi_squared = 0;
  for (const int count : seen) chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  // 100 degrees of freedom: 99.9 % of fair shuffles stay below 149.
  EXPECT_LT(chi_squared, 149);
}

TEST(Loader, AnEpochShowsEveryImageOnce) {
  const Counting data(60);
  const Loader loader(data, {.batch = 12});
  ASSERT_EQ(loader.steps_per_epoch(), 5);
  std::set<std::vector<std::int64_t>> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int64_t> shown;
    for (std::int64_t step = 0; step < 5; ++step) {
      const auto part = indices(batch_of(loader, epoch * 5 + step));
      shown.insert(shown.end(), part.begin(), part.end());
    }
    orders.insert(shown);
    std::sort(shown.begin(), shown.end());
    std::vector<std::int64_t> all(60);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(shown, all);
  }
  EXPECT_EQ(orders.size(), 3u);  // each epoch has its own order
}

TEST(Loader, DropsTheIncompleteBatch) {
  const Counting data(10);
  const Loader loader(data, {.batch = 4});
  EXPECT_EQ(loader.steps_per_epoch(), 2);
  std::set<std::int64_t> shown;
  for (const std::int64_t step : {0, 1}) {
    for (const std::int64_t index : indices(batch_of(loader, step))) shown.insert(index);
  }
  EXPECT_EQ(shown.size(), 8u);
}

TEST(Loader, KeepsTheOrderWithoutShuffling) {
  const Counting data(10);
  const Loader loader(data, {.batch = 4, .shuffle = false});
  EXPECT_EQ(indices(batch_of(loader, 0)), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(indices(batch_of(loader, 3)), (std::vector<std::int64_t>{4, 5, 6, 7}));
}

TEST(Loader, ABatchDependsOnSeedAndStepAlone) {
  const Counting data(100);
  const LoaderOptions options{.batch = 10, .seed = 3, .flip = true, .crop_padding = 2};
  const Loader loader(data, options);
  std::vector<Batch> forward;
  for (std::int64_t step = 0; step < 25; ++step) forward.push_back(batch_of(loader, step));
  const Loader again(data, options);
  for (std::int64_t step = 24; step >= 0; --step) {
    EXPECT_EQ(batch_of(again, step), forward[static_cast<std::size_t>(step)]);
  }
  LoaderOptions other = options;
  other.seed = 4;
  EXPECT_NE(batch_of(Loader(data, other), 0), forward[0]);
  EXPECT_NE(forward[0], forward[10]);  // the same place in the next epoch
}

TEST(Loader, ThreadsDoNotMatter) {
  const Counting data(100);
  LoaderOptions options{.batch = 33, .seed = 9, .flip = true, .crop_padding = 1};
  const Batch one = batch_of(Loader(data, options), 7);
  for (const int threads : {2, 5, 0}) {
    options.threads = threads;
    EXPECT_EQ(batch_of(Loader(data, options), 7), one) << threads;
  }
}

// Every image is a window of its padded original: finds which, and checks that all of them occur.
TEST(Loader, FlipsAndCrops) {
  const ImageShape shape{2, 3, 4};
  const Counting data(50, shape);
  for (const bool flip : {false, true}) {
    for (const int padding : {0, 1, 2}) {
      const Loader loader(data, {.batch = 50, .shuffle = false, .flip = flip, .crop_padding = padding});
      std::set<std::vector<int>> seen;
      for (std::int64_t step = 0; step < 40; ++step) {
        const Batch batch = batch_of(loader, step);
        for (int i = 0; i < 50; ++i) {
          const float* image = batch.images.data() + static_cast<std::ptrdiff_t>(i) * shape.size();
          int matches = 0;
          for (int mirrored = 0; mirrored <= 1; ++mirrored) {
            for (int dy = -padding; dy <= padding; ++dy) {
              for (int dx = -padding; dx <= padding; ++dx) {
                bool same = true;
                for (int c = 0; c < 2; ++c) {
                  for (int y = 0; y < 3; ++y) {
                    for (int x = 0; x < 4; ++x) {
                      const int from_y = y + dy;
                      const int from_x = (mirrored == 1 ? 3 - x : x) + dx;
                      const bool inside = from_y >= 0 && from_y < 3 && from_x >= 0 && from_x < 4;
                      const int value = inside ? i * 100 + (c * 3 + from_y) * 4 + from_x + 1 : 0;
                      same = same && image[(c * 3 + y) * 4 + x] == static_cast<float>(value);
                    }
                  }
                }
                if (same) {
                  ++matches;
                  seen.insert({mirrored, dy, dx});
                }
              }
            }
          }
          ASSERT_EQ(matches, 1);
        }
      }
      const int places = (2 * padding + 1) * (2 * padding + 1);
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(places * (flip ? 2 : 1)));
    }
  }
}

TEST(Loader, InOrder) {
  const Counting data(10);
  const Loader loader(data, {.batch = 4, .flip = true, .crop_padding = 1, .threads = 2});
  std::vector<float> images(4 * 24);
  std::vector<std::int32_t> labels(4);
  EXPECT_EQ(loader.load_in_order(8, 4, images.data(), labels.data()), 2);
  EXPECT_EQ(images[0], 801);
  EXPECT_EQ(images[24 + 23], 924);
  EXPECT_EQ(labels[1], 2);
  EXPECT_EQ(loader.load_in_order(10, 4, images.data(), labels.data()), 0);
}

TEST(Loader, PassesOnTheErrorOfAnImage) {
  Counting data(10);
  data.spoil(3);
  std::vector<float> images(10 * 24);
  std::vector<std::int32_t> labels(10);
  for (const int threads : {1, 2}) {
    const Loader loader(data, {.batch = 10, .threads = threads});
    EXPECT_THROW(loader.load(0, images.data(), labels.data()), InputError);
  }
}

TEST(Loader, RefusesOptionsOutOfRange) {
  const Counting data(10);
  const auto error_of = [&](const LoaderOptions& options) -> std::string {
    try {
      const Loader loader(data, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of({.batch = 11}),
            "counting: a batch of 11 images cannot be taken from 10 images; use a batch from 1 to 10");
  EXPECT_EQ(error_of({.batch = 0}),
            "counting: a batch of 0 images cannot be taken from 10 images; use a batch from 1 to 10");
  EXPECT_EQ(error_of({.batch = 1, .crop_padding = 3}),
            "counting: images of 3x4 cannot be cropped with a padding of 3; use a padding from 0 to 2");
  EXPECT_EQ(error_of({.batch = 1, .crop_padding = -1}),
            "counting: images of 3x4 cannot be cropped with a padding of -1; use a padding from 0 to 2");
  EXPECT_EQ(error_of({.batch = 10}), "no error");
}

}  // namespace
}  // namespace lacuna::dataset
