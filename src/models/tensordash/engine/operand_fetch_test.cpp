// Values that come through the groups of 16 x 16 and the transposers are the tensor's, and every fill counts.
#include "models/tensordash/engine/operand_fetch.hpp"

#include <gtest/gtest.h>
#include <set>

#include "base/testing.hpp"
#include "sim/testing/machines.hpp"
#include "sim/testing/random_layer.hpp"

namespace lacuna::tensordash {
namespace {

TEST(Transposer, TurnsLinesIntoColumns) {
  Transposer transposer(3);
  const float first[] = {1, 2, 3}, second[] = {4, 5, 6};
  transposer.fill(0, first);
  transposer.fill(1, second);
  transposer.fill(2, nullptr);
  transposer.turn();
  transposer.fill(0, second);  // the other buffer
  float out[3];
  transposer.read(0, out);
  EXPECT_EQ(std::vector<float>(out, out + 3), (std::vector<float>{1, 4, 0}));
  transposer.read(2, out);
  EXPECT_EQ(std::vector<float>(out, out + 3), (std::vector<float>{3, 6, 0}));
}

TEST(OperandFetch, EveryStreamOfRandomLayers) {
  int transposed = 0;
  for (std::uint64_t seed = 1; seed <= random_cases(400); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Trace trace = testing::random_trace(seed);
    const Layer& layer = trace.layers()[0];
    const LayerValues values = layer_values(layer, seed);
    const int lanes = random.chance(0.5) ? 16 : static_cast<int>(random.integer(1, 40));
    const VisitOrder order = random.chance(0.2) ? VisitOrder::kColumnMajor : VisitOrder::kRowMajor;
    for (const Operation op : kOperations) {
      const auto products = lane_products(layer, op, lanes, order);
      for (const Operand role : {operands(op).primary, operands(op).secondary}) {
        const GroupedTensor memory(layer.shape, role, values.of(role), lanes);
        for (const LaneProduct& product : products) {
          const OperandStreams& streams = product.of(role);
          OperandFetch fetch(streams, memory);
          std::vector<float> through(static_cast<std::size_t>(lanes)), direct(through.size());
          std::set<std::array<std::int64_t, 3>> fills;  // tap, block of channels, step
          for (std::int64_t stream = 0; stream < streams.count(); ++stream) {
            for (std::int64_t step = 0; step < streams.steps(); ++step) {
              const std::uint64_t nonzero = fetch.values(stream, step, through.data());
              ASSERT_EQ(nonzero, streams.values(stream, step, values.of(role), direct.data()));
              ASSERT_EQ(through, direct);
              if (streams.axis == LaneAxis::kChannels) continue;
              const std::int64_t channel = streams.channel0 + stream % streams.channels;
              fills.insert({stream / streams.channels, channel / lanes, step});
            }
          }
          ASSERT_EQ(fetch.transposed_groups(), static_cast<std::int64_t>(fills.size()));
          transposed += fills.empty() ? 0 : 1;
        }
      }
    }
  }
  EXPECT_GT(transposed, static_cast<int>(random_cases(400)));
}

// What the functional engine fetched, and the time of every block, against the closed form of the fast
// engine.
TEST(OperandFetch, TransposersOfBothEnginesAgreeOnRandomLayers) {
  int bound = 0;
  for (std::uint64_t seed = 1; seed <= random_cases(1500); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Trace trace = testing::random_trace(seed, testing::RandomLayerLimits{36, 5, 2});
    const Layer& layer = trace.layers()[0];
    if (layer.shape.macs() > 40'000) continue;
    const auto machine =
        testing::make_machine("tensordash", {{"memory", "modelled"},
                                             {"tiles", std::to_string(random.integer(1, 4))},
                                             {"scratchpad_rows", std::to_string(random.integer(2, 16))},
                                             {"transposers", std::to_string(random.integer(1, 6))},
                                             {"transposer_cycles", std::to_string(random.integer(1, 40))},
                                             {"sides", random.chance(0.2) ? "both" : "one"}});
    for (const Operation op : {Operation::kInputGrad, Operation::kWeightGrad}) {
      const OpResult fast = machine->simulate(layer, op);
      ASSERT_EQ(machine->simulate(layer, op, {Engine::kFunctional, seed}), fast) << operation_name(op);
      bound += fast.activity->bound == Bound::kTransposers ? 1 : 0;
    }
  }
  EXPECT_GT(bound, static_cast<int>(random_cases(1500) / 5));
}

}  // namespace
}  // namespace lacuna::tensordash
