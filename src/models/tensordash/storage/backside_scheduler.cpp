#include "models/tensordash/storage/backside_scheduler.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "base/ceil_div.hpp"

namespace lacuna::tensordash {
namespace {

struct OutputShape {
  std::int64_t positions;
  std::int64_t channels;
};

OutputShape output_shape(const LayerShape& shape, Operation op) {
  switch (op) {
    case Operation::kForward:
      return {shape.n * shape.output_positions(), shape.k};
    case Operation::kInputGrad:
      return {shape.n * shape.input_positions(), shape.c};
    case Operation::kWeightGrad:
      return {shape.k * shape.taps(), shape.c_per_group()};
  }
  return {0, 1};
}

}  // namespace

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

std::int64_t cycles_per_block(const Config& config) {
  if (config.backside_cycles > 0) return config.backside_cycles;
  return static_cast<std::int64_t>(config.scheduler.connectivity().levels().size());
}

std::int64_t backside_lanes(const Config& config) {
  const auto& levels = config.scheduler.connectivity().levels();
  std::size_t widest = 0;
  for (const std::vector<int>& level : levels) widest = std::max(widest, level.size());
  const std::int64_t at_once = ceil_div(static_cast<std::int64_t>(levels.size()), cycles_per_block(config));
  return std::min<std::int64_t>(config.tile.lanes, at_once * static_cast<std::int64_t>(widest));
}

BacksideLoad backside_load(const LayerShape& shape, Operation op, std::int64_t cycles, const Config& config) {
  const auto [positions, channels] = output_shape(shape, op);
  const std::int64_t per_block = cycles_per_block(config);
  BacksideLoad load;
  load.outputs = positions * channels;
  load.blocks = positions * ceil_div(channels, config.tile.lanes);
  load.cycles = cycles;
  const std::int64_t work = ceil_div(load.blocks, config.tile.tiles) * per_block;
  load.schedule_cycles = ceil_div(work, config.backside_schedulers);
  load.schedulers_needed = cycles > 0 ? ceil_div(work, cycles) : 0;
  load.needed_rate = cycles > 0 ? static_cast<double>(load.outputs) / static_cast<double>(config.tile.tiles) /
                                      static_cast<double>(cycles)
                                : 0;
  // A block of fewer outputs than lanes takes as long: what a tile can schedule of this operation's outputs.
  load.offered_rate = static_cast<double>(config.backside_schedulers) / static_cast<double>(per_block) *
                      static_cast<double>(load.outputs) / static_cast<double>(load.blocks);
  return load;
}

}  // namespace lacuna::tensordash
