#include <gtest/gtest.h>
#include <map>

#include "base/error.hpp"
#include "models/tensordash/row_group.hpp"
#include "sim/accelerator.hpp"
#include "sim/simulate.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::tensordash {
namespace {

Connectivity connect(const char* spec, int lanes, int depth) {
  return Connectivity::parse(spec, lanes, depth, "test");
}

TEST(Connectivity, PaperLevels) {
  const std::vector<std::vector<int>> expected{{0, 5, 10}, {1, 6, 11}, {2, 7, 12},
                                               {3, 8, 13}, {4, 9, 14}, {15}};
  EXPECT_EQ(connect("paper", 16, 3).levels(), expected);
  EXPECT_EQ(connect("tensordash-2019", 16, 3).levels(), expected);
}

TEST(Connectivity, LevelsNeverOverlapForAnyLaneCount) {
  for (int lanes = 4; lanes <= 64; ++lanes) {
    for (const char* spec : {"paper", "tensordash-2019", "lookahead", "crossbar"}) {
      for (const int depth : {1, 2, 3}) {
        const Connectivity connectivity = connect(spec, lanes, depth);
        for (const std::vector<int>& level : connectivity.levels()) {
          std::map<std::pair<int, int>, int> reached;
          for (const int lane : level) {
            for (const Movement& m : connectivity.movements()) {
              EXPECT_EQ(reached.count({m.step, (lane + m.offset) % lanes}), 0u);
            }
            for (const Movement& m : connectivity.movements())
              reached[{m.step, (lane + m.offset) % lanes}] = lane;
          }
        }
      }
    }
  }
}

TEST(Connectivity, Depth2HasFiveMovements) {
  EXPECT_EQ(connect("paper", 16, 2).movements().size(), 5u);
  EXPECT_EQ(connect("paper", 16, 3).movements().size(), 8u);
  EXPECT_EQ(connect("lookahead", 16, 8).movements().size(), 8u);
  EXPECT_EQ(connect("crossbar", 16, 3).movements().size(), 33u);
  // Few lanes: (+1,i-3) is (+1,i+1) on a ring of four, and (+2,i-2) is (+2,i+2).
  EXPECT_EQ(connect("paper", 4, 3).movements().size(), 6u);
}

TEST(Connectivity, BadListsAreErrors) {
  for (const char* spec : {"papper", "[[1,0]]", "[[0,0],[3,0]]", "[[0,0],[0,1]]", "[0,0]", "[[0,0],[1]]",
                           "[[0,0]", "", "[]", "[[0,0],[1,99999999999]]"}) {
    EXPECT_THROW(connect(spec, 16, 3), InputError) << spec;
  }
  EXPECT_THROW(connect("paper", 16, 4), InputError);
  EXPECT_NO_THROW(connect("[[0,0], [1,0], [1,-1], [3,+2]]", 16, 4));
}

GroupWords words_of(const std::vector<std::vector<std::uint64_t>>& rows, int depth) {
  GroupWords words(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size()), depth);
  for (std::size_t r = 0; r < rows.size(); ++r)
    std::copy(rows[r].begin(), rows[r].end(), words.row(static_cast<std::int64_t>(r)));
  return words;
}

// [TensorDash Fig. 7]: 7 effectual pairs of 16 in 2 cycles instead of 4.
TEST(RowGroup, WorkedExampleOfFigure7) {
  const Scheduler scheduler(connect("[[0,0],[1,0],[1,-1],[1,1]]", 4, 2));
  GroupWords words = words_of({{0b0110, 0b1001, 0b0010, 0b0101}}, 2);
  int picked = 0;
  const auto watch = [&](std::int64_t, std::int64_t, const Selection& selection) {
    for (const std::int16_t s : selection) picked += s != kIdle;
  };
  EXPECT_EQ(run_lockstep(scheduler, words, watch), 2);
  EXPECT_EQ(picked, 7);
}

TEST(RowGroup, EmptyAndFullStreams) {
  const Scheduler scheduler(connect("paper", 16, 3));
  GroupWords empty(4, 72, 3);
  EXPECT_EQ(run_lockstep(scheduler, empty), 24);
  GroupWords full = words_of({std::vector<std::uint64_t>(72, 0xffff)}, 3);
  EXPECT_EQ(run_lockstep(scheduler, full), 72);
  GroupWords one(1, 1, 3);
  EXPECT_EQ(run_lockstep(scheduler, one), 1);
}

}  // namespace
}  // namespace lacuna::tensordash
