// The front end of a tile against the functional engine, cycle by cycle: selections, operands, effectual
// bits, staging buffers, first and last cycles, and how many there are.
#include <algorithm>
#include <gtest/gtest.h>

#include "Vfe_crossbar.h"
#include "Vfe_depth2.h"
#include "Vfe_early.h"
#include "Vfe_fig7.h"
#include "Vfe_lookahead.h"
#include "Vfe_paper.h"
#include "frontend_driver.hpp"

namespace lacuna::rtl {
namespace {

constexpr int kWidth = 16;

StreamGroup random_group(Random& random, int rows, int lanes, int longest) {
  StreamGroup group{rows, static_cast<int>(random.integer(1, longest)), lanes, {}};
  group.values.resize(static_cast<std::size_t>(group.rows * group.steps * group.lanes));
  const double zeros = random.uniform() * 1.1;  // 1 in 11 is all zero
  const bool rows_differ = random.chance(0.5);
  for (int r = 0; r < rows; ++r) {
    const double row_zeros = rows_differ ? random.uniform() : zeros;
    for (int i = 0; i < group.steps * lanes; ++i) {
      const auto sign = static_cast<std::uint32_t>(random.integer(0, 1))
                        << (kWidth - 1);  // a zero has a sign too
      group.values[static_cast<std::size_t>(r * group.steps * lanes + i)] =
          sign |
          (random.chance(row_zeros) ? 0
                                    : static_cast<std::uint32_t>(random.integer(1, (1 << (kWidth - 1)) - 1)));
    }
  }
  return group;
}

struct Variant {
  const char* name;
  const char* spec;
  int lanes, depth, rows;
};

template <typename Top>
void check_random_streams(const Variant& variant, int streams, std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << variant.name << ", seed " << seed);
  Random random(seed);
  FrontendReference reference(variant.spec, variant.lanes, variant.depth, kWidth);
  FrontendDriver<Top> driver(reference, variant.rows, kWidth, seed + 1);
  for (int done = 0; done < streams;) {
    const int batch = static_cast<int>(random.integer(1, 20));
    driver.set_bypass(random.chance(0.1));
    const std::int64_t before = reference.cycles();
    for (int i = 0; i < batch; ++i, ++done)
      driver.push(random_group(random, variant.rows, variant.lanes, 24));
    const bool stalls = random.chance(0.5);
    const Stalls chances = stalls ? Stalls{random.uniform() * 0.9, random.uniform() * 0.9} : Stalls{};
    const auto counts = driver.run(chances, 1000000);
    ASSERT_TRUE(reference.errors().empty()) << reference.errors().front();
    ASSERT_EQ(counts.issued, reference.cycles() - before);
    if (!stalls) {
      ASSERT_EQ(counts.clocks, counts.issued) << "cycles lost without stalls";
    }
  }
}

// Together more than 10,000 streams per row, each up to 24 steps; half of the batches stall on both sides.
TEST(Frontend, Paper) { check_random_streams<Vfe_paper>({"paper", "paper", 16, 3, 4}, 10000, 1); }
TEST(Frontend, Early) {
  check_random_streams<Vfe_early>({"tensordash-2019", "tensordash-2019", 16, 3, 4}, 1000, 2);
}
TEST(Frontend, Depth2) { check_random_streams<Vfe_depth2>({"depth 2", "paper", 16, 2, 4}, 1000, 3); }
TEST(Frontend, Lookahead) {
  check_random_streams<Vfe_lookahead>({"lookahead", "lookahead", 16, 3, 4}, 1000, 4);
}
TEST(Frontend, Crossbar) { check_random_streams<Vfe_crossbar>({"crossbar", "crossbar", 16, 3, 4}, 1000, 5); }
TEST(Frontend, Figure7Streams) {
  check_random_streams<Vfe_fig7>({"fig. 7", "[[0,0],[1,0],[1,-1],[1,1]]", 4, 2, 1}, 1000, 6);
}

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

// [TensorDash Fig. 7]: 7 effectual pairs of 16 in 2 cycles instead of 4.
TEST(Frontend, WorkedExampleOfFigure7) {
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
