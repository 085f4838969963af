// Exact cycles of hand-drawn layers. That both engines agree, that results equal the reference and that
// the functional engine goes by values is checked for every model in tests/conformance.
#include <gtest/gtest.h>

#include "sim/testing/machines.hpp"

namespace lacuna {
namespace {

using testing::drawn_trace, testing::make_machine, testing::Settings;

const Settings kOneTile{{"tiles", "1"}, {"lanes", "4"}};

// Four rows of three steps; a dot is a zero. The second step is empty in all of them.
TEST(TemplateMachine, SkipsStepsThatAreEmptyInAllRows) {
  const Trace trace =
      drawn_trace(Operand::kA, {"x.......x...", "........x...", "...x........", "............"}, 4);
  const OpResult result =
      make_machine("template", kOneTile)->simulate(trace.layers()[0], Operation::kForward);
  EXPECT_EQ(result.cycles, 2);
  EXPECT_EQ(testing::counter(result, "skipped_steps"), 1);
}

TEST(TemplateMachine, AnEmptyWindowTakesItsLeast) {
  const Trace trace = drawn_trace(Operand::kA, {"........"}, 4);
  for (const char* least : {"0", "1", "3"}) {
    Settings settings = kOneTile;
    settings.emplace_back("window_cycles", least);
    const OpResult result =
        make_machine("template", settings)->simulate(trace.layers()[0], Operation::kForward);
    EXPECT_EQ(result.cycles, std::stoi(least));
  }
}

// Groups of rows follow one another, once for each group of columns.
TEST(TemplateMachine, GroupsAddUp) {
  const Trace trace =
      drawn_trace(Operand::kA, {"xxxx....", "........", "........", "........", "x...x..."}, 8);
  const OpResult result =
      make_machine("template", kOneTile)->simulate(trace.layers()[0], Operation::kForward);
  EXPECT_EQ(result.cycles, (1 + 2) * 2);
}

}  // namespace
}  // namespace lacuna
