// Random streams through a tile's front end, compared with the functional engine cycle by cycle.
#pragma once

#include <gtest/gtest.h>

#include "frontend_driver.hpp"

namespace lacuna::rtl {

inline constexpr int kWidth = 16;

inline StreamGroup random_group(Random& random, int rows, int lanes, int longest) {
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
    const double bypassed = random.chance(0.5) ? random.uniform() : 0;
    const std::int64_t before = reference.cycles();
    for (int i = 0; i < batch; ++i, ++done)
      driver.push(random_group(random, variant.rows, variant.lanes, 24), random.chance(bypassed));
    const bool stalls = random.chance(0.5);
    const Stalls chances = stalls ? Stalls{random.uniform() * 0.9, random.uniform() * 0.9} : Stalls{};
    if (random.chance(0.05)) {  // a reset in the middle leaves nothing behind
      driver.run(chances, random.integer(0, 40));
      ASSERT_TRUE(reference.errors().empty()) << reference.errors().front();
      driver.reset();
      continue;
    }
    const auto counts = driver.run(chances, 1000000);
    ASSERT_GE(counts.clocks, 0) << "gave up";
    ASSERT_TRUE(reference.errors().empty()) << reference.errors().front();
    ASSERT_EQ(counts.issued, reference.cycles() - before);
    if (!stalls) {
      ASSERT_EQ(counts.clocks, counts.issued) << "cycles lost without stalls";
    }
  }
}

}  // namespace lacuna::rtl
