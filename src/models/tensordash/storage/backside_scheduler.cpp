#include "models/tensordash/storage/backside_scheduler.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "base/ceil_div.hpp"

namespace lacuna::tensordash {

void BacksideScheduler::push(std::span<const float> block) {
  assert(!ended_ && block.size() <= static_cast<std::size_t>(selector_.lanes()));
  Step step{{block.begin(), block.end()}, 0};
  for (std::size_t lane = 0; lane < block.size(); ++lane) {
    if (is_effectual(block[lane])) step.effectual |= std::uint64_t{1} << lane;
  }
  steps_.push_back(std::move(step));
}

void BacksideScheduler::begin_row() {
  window_.assign(static_cast<std::size_t>(selector_.depth()), 0);
  for (std::size_t s = 0; s < std::min(window_.size(), steps_.size()); ++s) window_[s] = steps_[s].effectual;
  group_.values.resize(group_.values.size() + steps_.front().values.size(), 0.0F);
  group_.moves.resize(group_.values.size(), 0);
}

void BacksideScheduler::finish_row() {
  const int advance = selector_.drained(window_.data());
  group_.advances.push_back(static_cast<std::uint8_t>(advance));
  for (std::size_t s = 0; s < std::min(window_.size(), steps_.size()); ++s) steps_[s].effectual = window_[s];
  for (int s = 0; s < advance && !steps_.empty(); ++s) steps_.pop_front();
}

bool BacksideScheduler::cycle() {
  if (level_ == 0) {
    if (!ready()) return false;
    begin_row();
  }
  const auto slots = static_cast<int>(steps_.front().values.size());
  const std::size_t first = group_.values.size() - static_cast<std::size_t>(slots);
  const std::uint64_t lanes = levels_[level_] & low_bits(slots);
  const auto taken = [&](int movement, std::uint64_t chosen) {
    const Step& source = steps_[static_cast<std::size_t>(selector_.movement(movement).step)];
    for (; chosen != 0; chosen &= chosen - 1) {
      const int lane = std::countr_zero(chosen);
      group_.values[first + static_cast<std::size_t>(lane)] =
          source.values[static_cast<std::size_t>(selector_.source_lane(lane, movement))];
      group_.moves[first + static_cast<std::size_t>(lane)] = static_cast<std::uint16_t>(movement);
    }
  };
  const std::uint64_t own = window_[0] & lanes;
  window_[0] &= ~own;
  taken(0, own);
  selector_.select_level(window_.data(), lanes & ~own, taken);
  if (++level_ < levels_.size()) return false;
  level_ = 0;
  finish_row();
  return true;
}

ScheduledGroup BacksideScheduler::take() {
  assert(done());
  ended_ = false;
  return std::exchange(group_, {});
}

}  // namespace lacuna::tensordash
