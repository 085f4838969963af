#include "models/tensordash/storage/backside_load.hpp"

#include <algorithm>

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
