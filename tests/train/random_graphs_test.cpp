// Random networks: outputs and gradients of the engine against the double-precision twin.
#include <cstdlib>
#include <gtest/gtest.h>

#include "train/gradient_check.hpp"
#include "train/graph_builder.hpp"

namespace lacuna::train::twin {
namespace {

void check_random_graphs(std::uint64_t first, std::uint64_t count) {
  Probes all;
  std::uint64_t unsettled = 0;
  for (std::uint64_t seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random);
    CheckOptions options;
    options.batch = random.integer(1, 4);
    options.kernels = seed % 2 == 0 ? Kernels::kDense : Kernels::kSparse;
    options.threads = random.chance(0.9) ? 1 : static_cast<int>(random.integer(2, 3));
    options.seed = seed;
    options.samples = 2;
    options.node_samples = 1;
    options.noise = 2e-5;  // the worst of 120,000 derivatives of 3,000 graphs was 1.02e-5
    const Probes probes = probe_network(graph, options);
    all.made += probes.made;
    all.skipped += probes.skipped;
    if (!probes.settled) ++unsettled;
  }
  EXPECT_GE(all.made, 1000);
  EXPECT_LE(unsettled, count / 20);
  EXPECT_LE(all.skipped, all.made / 20) << "of " << all.made;
}

TEST(RandomGraphs, FirstHundred) { check_random_graphs(1, 100); }
TEST(RandomGraphs, SecondHundred) { check_random_graphs(101, 100); }

// LACUNA_RANDOM_GRAPHS=N draws N of them instead.
TEST(RandomGraphs, ThirdHundredOrMore) {
  const char* more = std::getenv("LACUNA_RANDOM_GRAPHS");
  check_random_graphs(201, more == nullptr ? 100 : std::stoull(more));
}

}  // namespace
}  // namespace lacuna::train::twin
