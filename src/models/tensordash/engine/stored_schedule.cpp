#include "models/tensordash/engine/stored_schedule.hpp"

#include <algorithm>
#include <cassert>

#include "base/ceil_div.hpp"
#include "models/tensordash/engine/engine.hpp"
#include "models/tensordash/engine/row_group.hpp"

namespace lacuna::tensordash {
namespace {

bool stored_by_filter(const PlacedProduct& placed) { return placed.rows->role == Operand::kW; }

// One stream per position of the plane, its channels alone.
OperandStreams position_streams(const OperandStreams& windows) {
  assert(windows.axis == LaneAxis::kChannels);
  OperandStreams positions = windows;
  positions.grid = windows.plane;
  positions.stride = {1, 1};
  positions.taps = {{0, 0}};
  positions.column_major = false;
  return positions;
}

// Calls visit(tap, position) for each tap of a window: the index of the position in position_streams(), or -1
// outside the plane.
template <typename Visit>
void for_each_tap(const OperandStreams& windows, std::int64_t window, const Visit& visit) {
  const std::int64_t positions = windows.grid.h * windows.grid.w;
  const std::int64_t first = windows.image0 * windows.plane.h * windows.plane.w;
  for (std::size_t t = 0; t < windows.taps.size(); ++t) {
    const std::int64_t row = windows.source_row(window / positions, window % positions, windows.taps[t]);
    visit(static_cast<std::int64_t>(t), row < 0 ? -1 : row - first);
  }
}

// Rows of PEs that slide by themselves.
Config single_rows(Config config) {
  config.tile.rows = 1;
  config.sides = Sides::kOne;
  return config;
}

}  // namespace

StoredSchedule::StoredSchedule(const Config& config, const PlacedProduct& placed, const TensorValues& values)
    : config_(config), placed_(placed), selector_(config.scheduler.connectivity()) {
  if (stored_by_filter(placed)) {
    store_filters(values);
  } else {
    store_positions(values);
  }
}

void StoredSchedule::store_filters(const TensorValues& values) {
  const OperandStreams& filters = *placed_.rows;
  const std::int64_t steps = filters.steps(), rows = config_.tile.rows;
  const auto lanes = static_cast<std::size_t>(config_.tile.lanes);
  const Scheduler& scheduler = config_.scheduler;
  const auto& movements = scheduler.connectivity().movements();
  groups_.resize(static_cast<std::size_t>(filters.count()));
  std::vector<float> staged(static_cast<std::size_t>(rows * steps) * lanes);
  for (std::int64_t first = 0; first < filters.count(); first += rows) {
    const std::int64_t here = std::min(rows, filters.count() - first);
    GroupWords words(here, steps, scheduler.connectivity().depth());
    for (std::int64_t r = 0; r < here; ++r) {
      for (std::int64_t step = 0; step < steps; ++step) {
        words.row(r)[step] = filters.values(first + r, step, values,
                                            &staged[static_cast<std::size_t>(r * steps + step) * lanes]);
      }
    }
    std::vector<std::int64_t> at(static_cast<std::size_t>(here), 0);  // where each filter's last row begins
    const auto store = [&](std::int64_t r, std::int64_t position, const Selection& selection) {
      ScheduledGroup& group = groups_[static_cast<std::size_t>(first + r)];
      std::int64_t& last = at[static_cast<std::size_t>(r)];
      if (group.slots() > 0) group.advances.push_back(static_cast<std::uint8_t>(position - last));
      last = position;
      for (int lane = 0; lane < config_.tile.lanes; ++lane) {
        const std::int16_t move = selection[static_cast<std::size_t>(lane)];
        const bool idle = move == kIdle;
        const Movement& movement = movements[idle ? 0 : static_cast<std::size_t>(move)];
        const std::size_t line = static_cast<std::size_t>(r * steps + position + movement.step) * lanes +
                                 static_cast<std::size_t>(scheduler.source_lane(lane, movement));
        group.values.push_back(idle ? 0.0F : staged[line]);
        group.moves.push_back(idle ? std::uint16_t{0} : static_cast<std::uint16_t>(move));
      }
    };
    if (config_.sync == RowSync::kDecoupled) {
      run_decoupled(scheduler, words, store);
    } else {
      run_lockstep(scheduler, words, store);
    }
    for (std::int64_t r = 0; r < here; ++r) {
      groups_[static_cast<std::size_t>(first + r)].advances.push_back(static_cast<std::uint8_t>(
          std::min<std::int64_t>(scheduler.connectivity().depth(), steps - at[static_cast<std::size_t>(r)])));
    }
  }
}

void StoredSchedule::store_positions(const TensorValues& values) {
  const OperandStreams positions = position_streams(*placed_.rows);
  const ScheduledCodec codec(config_.scheduler.connectivity());
  const GroupShape shape = vector_shape(positions.channels, config_.tile.lanes);
  const std::int64_t steps = positions.steps();
  std::vector<float> channels(static_cast<std::size_t>(steps * config_.tile.lanes));
  for (std::int64_t i = 0; i < positions.count(); ++i) {
    for (std::int64_t step = 0; step < steps; ++step)
      positions.values(i, step, values, &channels[static_cast<std::size_t>(step * config_.tile.lanes)]);
    groups_.push_back(codec.encode(shape, {channels.data(), static_cast<std::size_t>(positions.channels)}));
  }
  std::ranges::fill(channels, 0.0F);
  border_ = codec.encode(shape, {channels.data(), static_cast<std::size_t>(positions.channels)});
}

// Rows of a stored group from step `first_step` of a stream on. Each has `lanes` slots, but fewer where its
// window begins at `tail_step` of the group (A21).
std::int64_t StoredSchedule::run_group(const ScheduledGroup& group, std::int64_t first_step,
                                       std::int64_t tail_step, std::vector<RowValue>& products) const {
  const int lanes = config_.tile.lanes;
  const auto tail = static_cast<int>(placed_.rows->axis_elements() - tail_step * lanes);
  std::int64_t position = 0;
  std::size_t slot = 0;
  for (const std::uint8_t advance : group.advances) {
    const int slots = position == tail_step ? tail : lanes;
    for (int lane = 0; lane < slots; ++lane, ++slot) {
      if (!is_effectual(group.values[slot])) continue;  // an idle lane
      const int move = group.moves[slot];
      const std::int64_t step = first_step + position + selector_.movement(move).step;
      products.push_back(
          {group.values[slot], static_cast<std::int32_t>(step * lanes + selector_.source_lane(lane, move))});
    }
    position += advance;
  }
  assert(slot == group.values.size());
  return group.rows();
}

std::int64_t StoredSchedule::run(std::int64_t row_group, std::vector<std::vector<RowValue>>& products) const {
  const OperandStreams& streams = *placed_.rows;
  const std::int64_t first = row_group * config_.tile.rows;
  const std::int64_t rows = std::min(config_.tile.rows, streams.count() - first);
  std::int64_t slowest = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<RowValue>& of_row = products[static_cast<std::size_t>(r)];
    std::int64_t cycles = 0;
    if (stored_by_filter(placed_)) {
      constexpr std::int64_t kNoTail = -1;
      cycles = run_group(groups_[static_cast<std::size_t>(first + r)], 0, kNoTail, of_row);
    } else {
      for_each_tap(streams, first + r, [&](std::int64_t tap, std::int64_t position) {
        const ScheduledGroup& group = position < 0 ? border_ : groups_[static_cast<std::size_t>(position)];
        cycles += run_group(group, tap * streams.axis_steps(), streams.axis_steps() - 1, of_row);
      });
    }
    slowest = std::max(slowest, cycles);
  }
  return slowest;
}

std::int64_t stored_product_cycles(const Config& config, const PlacedProduct& placed) {
  // Filters were scheduled together, as the tile's scheduler would have done it.
  if (stored_by_filter(placed)) return product_cycles(config, placed);
  const OperandStreams& windows = *placed.rows;
  const std::vector<std::uint32_t> rows_of = row_group_cycles(single_rows(config), position_streams(windows));
  const auto border =
      static_cast<std::uint32_t>(ceil_div(windows.axis_steps(), config.scheduler.connectivity().depth()));
  std::vector<std::uint32_t> of_windows;
  for (std::int64_t window = 0; window < windows.count(); ++window) {
    std::uint32_t& cycles = of_windows.emplace_back(0);
    for_each_tap(windows, window, [&](std::int64_t, std::int64_t position) {
      cycles += position < 0 ? border : rows_of[static_cast<std::size_t>(position)];
    });
  }
  return clock_row_groups(placed.grid, slowest_of_groups(of_windows, config.tile.rows));
}

std::int64_t stored_filter_rows(const Config& config, const Placement& forward) {
  Config together = config.sync == RowSync::kDecoupled ? single_rows(config) : config;
  together.sides = Sides::kOne;
  std::int64_t rows = 0;
  for (const PlacedProduct& product : forward.placed) {
    std::int64_t filters = product.rows->count();
    for (const std::uint32_t cycles : row_group_cycles(together, *product.rows)) {
      rows += cycles * std::min(filters, together.tile.rows);
      filters -= together.tile.rows;
    }
  }
  return rows;
}

}  // namespace lacuna::tensordash
