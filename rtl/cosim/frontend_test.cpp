// The front end of a tile against the functional engine, cycle by cycle: selections, operands, effectual
// bits, staging buffers, first and last cycles, and how many there are.
#include <algorithm>
#include <gtest/gtest.h>

#include "Vfe_crossbar.h"
#include "Vfe_depth2.h"
#include "Vfe_early.h"
#include "Vfe_lookahead.h"
#include "Vfe_paper.h"
#include "frontend_check.hpp"

namespace lacuna::rtl {
namespace {

// Streams of up to 24 steps for each of four rows; half of the batches stall on both sides.
TEST(Frontend, Paper) { check_random_streams<Vfe_paper>({"paper", "paper", 16, 3, 4}, 10000, 1); }
TEST(Frontend, Early) {
  check_random_streams<Vfe_early>({"tensordash-2019", "tensordash-2019", 16, 3, 4}, 10000, 2);
}
TEST(Frontend, Depth2) { check_random_streams<Vfe_depth2>({"depth 2", "paper", 16, 2, 4}, 10000, 3); }
TEST(Frontend, Lookahead) {
  check_random_streams<Vfe_lookahead>({"lookahead", "lookahead", 16, 3, 4}, 10000, 4);
}
TEST(Frontend, Crossbar) { check_random_streams<Vfe_crossbar>({"crossbar", "crossbar", 16, 3, 4}, 10000, 5); }
// A new connectivity in configs/arch needs its RTL here.
TEST(Frontend, EveryConnectivityOfConfigsArchIsCovered) {
  const std::vector<std::tuple<std::string, int, int>> covered{{"paper", 16, 3},
                                                               {"tensordash-2019", 16, 3},
                                                               {"paper", 16, 2},
                                                               {"lookahead", 16, 3},
                                                               {"crossbar", 16, 3}};
  const auto machines = arch_connectivities();
  EXPECT_GE(machines.size(), 7u);
  for (const ArchConnectivity& machine : machines) {
    EXPECT_NE(std::ranges::find(covered, std::tuple(machine.spec, machine.lanes, machine.depth)),
              covered.end())
        << machine.arch;
  }
}

}  // namespace
}  // namespace lacuna::rtl
