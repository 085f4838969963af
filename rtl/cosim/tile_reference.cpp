#include "tile_reference.hpp"

#include <bit>

#include "models/tensordash/engine/row_group.hpp"

namespace lacuna::rtl {
namespace {

using tensordash::Connectivity;
using tensordash::Scheduler;
using tensordash::Selection;

float number(std::uint32_t bits, int width) { return std::bit_cast<float>(width == 16 ? bits << 16 : bits); }

// Neighbours first, as fp_adder_tree adds.
float tree_sum(std::vector<float> terms) {
  while (terms.size() > 1) {
    std::vector<float> sums;
    for (std::size_t i = 0; i < terms.size(); i += 2)
      sums.push_back(terms[i] + (i + 1 < terms.size() ? terms[i + 1] : 0.0F));
    terms = std::move(sums);
  }
  return terms.front();
}

}  // namespace

std::vector<TileCycle> tile_cycles(const std::string& spec, int depth, const TileShapeInfo& tile,
                                   const StreamGroup& b, const StreamGroup& a) {
  const int lanes = b.lanes;
  const Scheduler scheduler(Connectivity::parse(spec, lanes, depth, "rtl"));
  // A stream of bits per scheduler: of a row, or of a PE.
  const int shares = tile.pairs ? tile.columns : 1, schedulers = tile.rows * shares;
  tensordash::GroupWords words(schedulers, b.steps, depth);
  const std::uint32_t magnitude = static_cast<std::uint32_t>((std::uint64_t{1} << (tile.width - 1)) - 1);
  for (int n = 0; n < schedulers; ++n) {
    for (int step = 0; step < b.steps; ++step) {
      for (int lane = 0; lane < lanes; ++lane) {
        const bool effectual = (b.value(n / shares, step, lane) & magnitude) != 0 &&
                               (!tile.pairs || (a.value(n % shares, step, lane) & magnitude) != 0);
        if (effectual) words.row(n)[step] |= std::uint64_t{1} << lane;
      }
    }
  }
  std::vector<TileCycle> cycles;
  struct Accumulator {
    std::vector<float> sums;  // -0 while they have no terms
    std::size_t terms = 0;
  };
  const Accumulator empty{std::vector<float>(static_cast<std::size_t>(tile.sums()), -0.0F)};
  std::vector<Accumulator> accumulators(static_cast<std::size_t>(tile.rows * tile.columns), empty);
  std::vector<float> products(static_cast<std::size_t>(lanes));
  const auto watch = [&](std::int64_t n, std::int64_t position, const Selection& selection) {
    const auto row = static_cast<int>(n) / shares;
    const int first = tile.pairs ? static_cast<int>(n) % shares : 0;
    const int end = tile.pairs ? first + 1 : tile.columns;
    for (int c = first; c < end; ++c) {
      for (int lane = 0; lane < lanes; ++lane) {
        float x = 0, y = 0;
        const int move = selection[static_cast<std::size_t>(lane)];
        if (move >= 0) {
          const auto& m = scheduler.connectivity().movements()[static_cast<std::size_t>(move)];
          const auto step = static_cast<int>(position) + m.step;
          const int source = scheduler.source_lane(lane, m);
          x = number(a.value(c, step, source), tile.width);
          y = number(b.value(row, step, source), tile.width);
        }
        products[static_cast<std::size_t>(lane)] = x * y;
      }
      Accumulator& accumulator = accumulators[static_cast<std::size_t>(row * tile.columns + c)];
      float& sum = accumulator.sums[accumulator.terms++ % accumulator.sums.size()];
      sum += tree_sum(products);
    }
    if (n + 1 == schedulers) {
      TileCycle cycle;
      for (const Accumulator& accumulator : accumulators)
        cycle.accumulators.push_back(std::bit_cast<std::uint32_t>(tree_sum(accumulator.sums)));
      cycles.push_back(std::move(cycle));
    }
  };
  if (tile.skips) {
    tensordash::run_lockstep(scheduler, words, watch);
  } else {
    Selection dense;
    dense.fill(0);
    for (int step = 0; step < b.steps; ++step) {
      for (int n = 0; n < schedulers; ++n) watch(n, step, dense);
    }
  }
  cycles.back().last = true;
  return cycles;
}

}  // namespace lacuna::rtl
