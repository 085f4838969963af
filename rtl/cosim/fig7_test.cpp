// The small front end of the paper's Fig. 7 (4 lanes, depth 2): quick to compile.
#include "Vfe_fig7.h"
#include "frontend_check.hpp"

namespace lacuna::rtl {
namespace {

TEST(Figure7, RandomStreams) {
  check_random_streams<Vfe_fig7>({"fig. 7", "[[0,0],[1,0],[1,-1],[1,1]]", 4, 2, 1}, 1000, 6);
}

// [TensorDash Fig. 7]: 7 effectual pairs of 16 in 2 cycles instead of 4.
TEST(Figure7, WorkedExample) {
  FrontendReference reference("[[0,0],[1,0],[1,-1],[1,1]]", 4, 2, kWidth);
  FrontendDriver<Vfe_fig7> driver(reference, 1, kWidth, 1);
  StreamGroup group{1, 4, 4, {0, 11, 12, 0, 20, 0, 0, 23, 0, 31, 0, 0, 40, 0, 42, 0}};
  driver.push(group);
  const auto counts = driver.run({}, 100);
  EXPECT_EQ(counts.issued, 2);
  EXPECT_TRUE(reference.errors().empty()) << reference.errors().front();
}

}  // namespace
}  // namespace lacuna::rtl
