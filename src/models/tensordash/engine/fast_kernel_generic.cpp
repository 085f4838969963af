// Any connectivity of 16 lanes: vectors of 32 rows, for any number of rows per group.
#include <array>
#include <cassert>
#include <cstring>

#include "base/vector_clones.hpp"
#include "models/tensordash/engine/fast_kernels.hpp"

namespace lacuna::tensordash {
namespace {

constexpr int kRows = 32;
using Rows = WideVector<std::uint16_t>;  // one element per row, one bit per lane
static_assert(sizeof(Rows) == kRows * sizeof(std::uint16_t));

struct Move {
  int step;
  std::uint16_t left;  // rotation that brings the source lane's bit to the own lane's place
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
  const Rows none = {};
  for (int l = 0; l < plan.level_count; ++l) {
    Rows free = none + plan.levels[static_cast<std::size_t>(l)];
    for (int m = 0; m < plan.move_count; ++m) {
      const Move& move = plan.moves[static_cast<std::size_t>(m)];
      Rows& values = window[move.step];
      if (move.left == 0) {
        const Rows taken = values & free;
        free &= ~taken;
        values &= ~taken;
      } else {
        const auto right = static_cast<std::uint16_t>(StreamBlock::kLanes - move.left);
        const Rows taken = ((values << move.left) | (values >> right)) & free;
        free &= ~taken;
        values &= ~((taken >> move.left) | (taken << right));
      }
    }
  }
}

// The groups of a block, `kSlots` rows each, through vectors of 32 rows. A group that ends makes room for the
// next.
template <int kSlots>
class Runner {
 public:
  Runner(const Plan& plan, int depth, const StreamBlock& block, std::uint32_t* cycles)
      : plan_(plan), depth_(depth), block_(block), cycles_(cycles) {}

  void run() {
    for (int p = 0; p < kPlaces; ++p) take(p, 0);
    for (std::uint32_t now = 1; active_ > 0; ++now) {
      schedule(plan_, window_);
      for (int p = 0; p < kPlaces; ++p) {
        if (places_[static_cast<std::size_t>(p)].group >= 0) advance(p, now);
      }
    }
  }

 private:
  static constexpr int kPlaces = kRows / kSlots;
  struct GroupRows {  // the rows of one group at one step
    std::uint16_t row[kSlots];
    bool empty() const {
      std::uint16_t any = 0;
      for (const std::uint16_t bits : row) any |= bits;
      return any == 0;
    }
  };
  struct Place {
    std::int64_t group = -1;
    std::int64_t at = 0;
    std::uint32_t started = 0;
  };

  GroupRows get(int step, int p) const {
    GroupRows rows;
    std::memcpy(&rows, reinterpret_cast<const char*>(&window_[step]) + p * sizeof(rows), sizeof(rows));
    return rows;
  }
  void put(int step, int p, const GroupRows& rows) {
    std::memcpy(reinterpret_cast<char*>(&window_[step]) + p * sizeof(rows), &rows, sizeof(rows));
  }
  void refill(int p, int from) {  // steps [from, depth) of a group's window
    const Place& place = places_[static_cast<std::size_t>(p)];
    const std::uint16_t* words = block_.group(place.group) + (place.at + from) * kSlots;
    for (int s = from; s < depth_; ++s, words += kSlots) {
      GroupRows rows;
      std::memcpy(&rows, words, sizeof(rows));
      put(s, p, rows);
    }
  }
  void take(int p, std::uint32_t now) {
    Place& place = places_[static_cast<std::size_t>(p)];
    place.group = -1;
    if (next_ >= block_.groups()) {
      for (int s = 0; s < depth_; ++s) put(s, p, GroupRows{});
      return;
    }
    place = {next_++, 0, now};
    ++active_;
    refill(p, 0);
  }
  void advance(int p, std::uint32_t now) {
    Place& place = places_[static_cast<std::size_t>(p)];
    int slide = 1;
    while (slide < depth_ && get(slide, p).empty()) ++slide;
    place.at += slide;
    if (place.at >= block_.steps()) {
      cycles_[place.group] = now - place.started;
      --active_;
      take(p, now);
      return;
    }
    for (int s = slide; s < depth_; ++s) put(s - slide, p, get(s, p));
    refill(p, depth_ - slide);
  }

  const Plan& plan_;
  int depth_;
  const StreamBlock& block_;
  std::uint32_t* cycles_;
  Rows window_[kMaxDepth] = {};
  std::array<Place, kPlaces> places_;
  std::int64_t next_ = 0;
  std::int64_t active_ = 0;
};

}  // namespace

void lockstep_cycles_generic(const Connectivity& connectivity, const StreamBlock& block,
                             std::uint32_t* cycles) {
  Plan plan;
  for (const Movement& movement : connectivity.movements()) {
    plan.moves[static_cast<std::size_t>(plan.move_count++)] = {
        movement.step,
        static_cast<std::uint16_t>((StreamBlock::kLanes - movement.offset) % StreamBlock::kLanes)};
  }
  for (const std::uint64_t mask : connectivity.level_masks()) {
    plan.levels[static_cast<std::size_t>(plan.level_count++)] = static_cast<std::uint16_t>(mask);
  }
  const auto run = [&]<int kSlots>() { Runner<kSlots>(plan, connectivity.depth(), block, cycles).run(); };
  switch (block.slots()) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    case 4:
      return run.template operator()<4>();
    case 8:
      return run.template operator()<8>();
    case 16:
      return run.template operator()<16>();
    default:
      assert(block.slots() == kRows);
      return run.template operator()<kRows>();
  }
}

}  // namespace lacuna::tensordash
