// Any connectivity of 16 lanes: a vector of 32 rows, whatever number of rows makes a group.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/vector_clones.hpp"
#include "models/tensordash/fast_kernels.hpp"

namespace lacuna::tensordash {
namespace {

constexpr int kRows = 32;
using Rows = std::array<std::uint16_t, kRows>;

struct Move {
  int step;
  int left;  // rotation that brings the source lane's bit to the own lane's place; 16 - left goes back
};

struct Plan {
  std::array<Move, kMaxDepth * StreamBlock::kLanes> moves;
  std::array<std::uint16_t, StreamBlock::kLanes> levels;
  int move_count = 0;
  int level_count = 0;
};

// One cycle of the scheduler for 32 rows; clears what was taken.
LACUNA_VECTOR_CLONES
void schedule(const Plan& plan, Rows* window) {
  for (int l = 0; l < plan.level_count; ++l) {
    Rows free;
    for (int r = 0; r < kRows; ++r) free[r] = plan.levels[l];
    for (int m = 0; m < plan.move_count; ++m) {
      Rows& values = window[plan.moves[m].step];
      const int left = plan.moves[m].left;
      const int right = StreamBlock::kLanes - left;
      for (int r = 0; r < kRows; ++r) {
        const auto reachable = static_cast<std::uint16_t>((values[r] << left) | (values[r] >> right));
        const auto taken = static_cast<std::uint16_t>(reachable & free[r]);
        free[r] = static_cast<std::uint16_t>(free[r] & ~taken);
        values[r] = static_cast<std::uint16_t>(values[r] & ~((taken >> left) | (taken << right)));
      }
    }
  }
}

}  // namespace

void lockstep_cycles_generic(const Connectivity& connectivity, const StreamBlock& block,
                             std::uint32_t* cycles) {
  Plan plan;
  for (const Movement& movement : connectivity.movements()) {
    plan.moves[static_cast<std::size_t>(plan.move_count++)] = {
        movement.step, (StreamBlock::kLanes - movement.offset) % StreamBlock::kLanes};
  }
  for (const std::uint64_t mask : connectivity.level_masks()) {
    plan.levels[static_cast<std::size_t>(plan.level_count++)] = static_cast<std::uint16_t>(mask);
  }
  const int depth = connectivity.depth();
  const std::int64_t slots = block.slots();
  const std::int64_t lanes = kRows / slots;  // groups a vector
  struct Place {
    std::int64_t group = -1;
    std::int64_t at = 0;
    std::uint32_t started = 0;
  };
  std::array<Place, kRows> places;
  std::array<Rows, kMaxDepth> window;
  for (Rows& step : window) step.fill(0);
  std::int64_t next = 0;
  std::int64_t active = 0;
  const auto refill = [&](std::int64_t p, int from) {  // steps [from, depth) of a group's window
    const Place& place = places[static_cast<std::size_t>(p)];
    for (int s = from; s < depth; ++s) {
      std::memcpy(&window[static_cast<std::size_t>(s)][static_cast<std::size_t>(p * slots)],
                  block.group(place.group) + (place.at + s) * slots, static_cast<std::size_t>(slots) * 2);
    }
  };
  const auto take = [&](std::int64_t p, std::uint32_t now) {
    Place& place = places[static_cast<std::size_t>(p)];
    if (next >= block.groups()) {
      place.group = -1;
      for (Rows& step : window) std::fill_n(step.begin() + p * slots, slots, std::uint16_t{0});
      return;
    }
    place = {next++, 0, now};
    ++active;
    refill(p, 0);
  };
  for (std::int64_t p = 0; p < lanes; ++p) take(p, 0);
  for (std::uint32_t now = 1; active > 0; ++now) {
    schedule(plan, window.data());
    for (std::int64_t p = 0; p < lanes; ++p) {
      Place& place = places[static_cast<std::size_t>(p)];
      if (place.group < 0) continue;
      const auto empty = [&](int s) {
        std::uint16_t any = 0;
        for (std::int64_t r = 0; r < slots; ++r) {
          any |= window[static_cast<std::size_t>(s)][static_cast<std::size_t>(p * slots + r)];
        }
        return any == 0;
      };
      int slide = 1;
      while (slide < depth && empty(slide)) ++slide;
      place.at += slide;
      if (place.at >= block.steps()) {
        cycles[place.group] = now - place.started;
        --active;
        take(p, now);
        continue;
      }
      for (int s = slide; s < depth; ++s) {
        std::memcpy(&window[static_cast<std::size_t>(s - slide)][static_cast<std::size_t>(p * slots)],
                    &window[static_cast<std::size_t>(s)][static_cast<std::size_t>(p * slots)],
                    static_cast<std::size_t>(slots) * 2);
      }
      refill(p, depth - slide);
    }
  }
}

}  // namespace lacuna::tensordash
