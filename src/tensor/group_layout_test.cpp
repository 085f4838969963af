#include "tensor/group_layout.hpp"

#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace lacuna {
namespace {

// Written out for one tensor of 20 channels and 18 columns: two groups along each.
TEST(GroupLayout, OrderIsChannelColumnRow) {
  const GroupLayout layout{.images = 2, .rows = 3, .columns = 18, .channels = 20};
  EXPECT_EQ(layout.groups(), 2 * 3 * 2 * 2);
  EXPECT_EQ(layout.offset({0, 0, 0, 0}), 0);
  EXPECT_EQ(layout.offset({0, 0, 0, 15}), 15);   // channels of a block are together
  EXPECT_EQ(layout.offset({0, 0, 1, 0}), 16);    // the next block: the next column
  EXPECT_EQ(layout.offset({0, 0, 15, 0}), 240);  // the last block of the group
  EXPECT_EQ(layout.offset({0, 0, 0, 16}), 256);  // the next group: channels first
  EXPECT_EQ(layout.offset({0, 0, 16, 0}), 512);  // then columns
  EXPECT_EQ(layout.offset({0, 1, 0, 0}), 1024);  // then rows
  EXPECT_EQ(layout.offset({1, 0, 0, 0}), 3072);  // then images
}

TEST(GroupLayout, EveryValueHasItsPlace) {
  for (const std::int64_t side : {4, 16}) {
    for (const GroupLayout& layout : {GroupLayout{1, 1, 1, 1, side}, GroupLayout{2, 3, 18, 20, side},
                                      GroupLayout{1, 7, 7, 32, side}, GroupLayout{3, 2, 33, 5, side}}) {
      std::set<std::int64_t> inside;
      for (std::int64_t n = 0; n < layout.images; ++n)
        for (std::int64_t y = 0; y < layout.rows; ++y)
          for (std::int64_t x = 0; x < layout.columns; ++x)
            for (std::int64_t c = 0; c < layout.channels; ++c) {
              const std::int64_t offset = layout.offset({n, y, x, c});
              ASSERT_LT(offset, layout.stored_elements());
              ASSERT_TRUE(inside.insert(offset).second) << "two values at " << offset;
            }
    }
  }
}

// [TensorDash §3.4]: a block of channels in one access; through a transposer, which takes the i-th value of
// every block of a group, one channel of 16 positions.
TEST(GroupLayout, TransposerGivesOneChannelOfSixteenPositions) {
  const GroupLayout layout{.images = 1, .rows = 2, .columns = 40, .channels = 48};
  for (const std::int64_t column : {0, 16, 32})
    for (std::int64_t channel = 0; channel < 48; ++channel) {
      const std::int64_t first = layout.offset({0, 1, column, channel});
      for (std::int64_t lane = 0; lane < 16; ++lane)
        ASSERT_EQ(layout.offset({0, 1, column + lane, channel}), first + lane * 16);
    }
}

// Where the blocks of a group go to banks one after another, those read together by a strided convolution
// share banks: gcd(stride, banks) of them each.
TEST(GroupLayout, StridedBlocksMeetInBanks) {
  const GroupLayout layout{.images = 1, .rows = 1, .columns = 256, .channels = 16};
  for (const auto& [stride, expected] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {2, 2}, {3, 1}, {4, 4}}) {
    std::vector<std::int64_t> uses(16, 0);
    for (std::int64_t i = 0; i < 16; ++i)
      ++uses[static_cast<std::size_t>(layout.offset({0, 0, i * stride, 0}) / layout.side % 16)];
    std::int64_t most = 0;
    for (const std::int64_t count : uses) most = std::max(most, count);
    EXPECT_EQ(most, expected) << "stride " << stride;
  }
}

}  // namespace
}  // namespace lacuna
