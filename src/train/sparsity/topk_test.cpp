// The largest values of a tensor against sorting it.
#include "train/sparsity/topk.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

#include "base/random.hpp"

namespace lacuna::train {
namespace {

// The plain twin: sort all places by magnitude, the first places first among equals.
std::vector<float> by_sorting(const std::vector<float>& values, std::int64_t keep) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::fabs(values[a]) > std::fabs(values[b]); });
  std::vector<float> kept(values.size());
  for (std::size_t i = 0; i < order.size() && static_cast<std::int64_t>(i) < keep; ++i)
    kept[order[i]] = values[order[i]];
  return kept;
}

std::int64_t count_nonzeros(const std::vector<float>& values) {
  return std::ranges::count_if(values, [](float v) { return v != 0; });
}

// Few different values (hence ties), many zeros, values that differ in their last bits only, any size on
// either side of where the method changes.
TEST(TopK, EqualsSorting) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const auto size = static_cast<std::size_t>(random.integer(1, round % 4 == 0 ? 70'000 : 400));
    const std::int64_t different = random.integer(1, 3) == 1 ? 3 : 1'000'000;
    const double zeros = random.uniform();
    std::vector<float> values(size);
    for (float& v : values) {
      const auto drawn = static_cast<float>(random.integer(-different, different));
      v = random.uniform() < zeros ? 0 : round % 3 == 0 ? 1 + drawn * 0x1p-23F : drawn * 0.01F;
    }
    const auto keep = random.integer(0, static_cast<std::int64_t>(size) + 2);
    const std::vector<float> expected = by_sorting(values, keep);
    for (const int threads : {1, round % 4 == 0 ? 3 : 1}) {
      std::vector<float> kept(size, -1);
      const auto count = static_cast<std::int64_t>(size);
      EXPECT_EQ(keep_largest(values.data(), count, keep, kept.data(), threads), count_nonzeros(expected));
      ASSERT_EQ(kept, expected) << "seed 11, round " << round << ", " << size << " values, keep " << keep;
    }
    std::vector<float> in_place = values;
    keep_largest(in_place.data(), static_cast<std::int64_t>(size), keep, in_place.data(), 1);
    ASSERT_EQ(in_place, expected);
  }
}

TEST(TopK, EachSampleKeepsItsOwn) {
  const std::vector<float> values = {1, -9, 3, 0.5F, /**/ 0.1F, 0.2F, -0.3F, 0, /**/ 0, 0, 0, 0};
  std::vector<float> kept(12, -1);
  EXPECT_EQ(keep_largest_per_sample(values.data(), 3, 4, 2, kept.data(), 2), 4);
  EXPECT_EQ(kept, (std::vector<float>{0, -9, 3, 0, 0, 0.2F, -0.3F, 0, 0, 0, 0, 0}));
  EXPECT_EQ(keep_largest(values.data(), 12, 2, kept.data(), 2), 2);
  EXPECT_EQ(kept, (std::vector<float>{0, -9, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(TopK, Counts) {
  EXPECT_EQ(kept_count(100, 0.1), 10);
  EXPECT_EQ(kept_count(10, 0.1), 1);
  EXPECT_EQ(kept_count(3, 0.001), 1);  // never none
  EXPECT_EQ(kept_count(7, 1), 7);
}

}  // namespace
}  // namespace lacuna::train
