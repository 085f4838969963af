// Values through the hardware. They come from memory in groups of 16 x 16 and, where lanes do not run along
// the channels, through a transposer [TensorDash §3.4]. The staging buffers of a row hold its values; each
// cycle the scheduler's selection drives the row's multiplexers and those of every column (both operands move
// in tandem), and each PE adds the products to its accumulator [TensorDash §3.1, Fig. 8; §3.3, Fig. 11].
//
// A row's selections do not depend on the column, so the products of all columns for one selected pair are
// one multiply-add over a contiguous line of column values: the simulator's vector loop, the tile's columns.
#include <algorithm>
#include <optional>

#include "base/ceil_div.hpp"
#include "base/work_progress.hpp"
#include "models/tensordash/engine/engine.hpp"
#include "models/tensordash/engine/row_group.hpp"
#include "models/tensordash/engine/stored_schedule.hpp"
#include "sim/tile/stream_products.hpp"

namespace lacuna::tensordash {
namespace {

class OneSide {
 public:
  OneSide(const Config& config, const LayerShape& shape, Operation op, const PlacedProduct& placed,
          const FunctionalOperands& operands)
      : config_(config),
        shape_(shape),
        op_(op),
        placed_(placed),
        rows_(*placed.rows, operands.of(*placed.rows, op)),
        columns_(*placed.columns, operands.of(*placed.columns, op)),
        steps_(placed.rows->steps()),
        words_(config.tile.rows, steps_, config.scheduler.connectivity().depth()),
        staged_(static_cast<std::size_t>(config.tile.rows * steps_ * config.tile.lanes)),
        products_(static_cast<std::size_t>(config.tile.rows)),
        group_cycles_(static_cast<std::size_t>(placed.grid.row_groups)),
        group_lines_(config.sync == RowSync::kLines ? group_cycles_.size() : 0) {
    if (config.runs_from_stored(shape, op, placed.rows->role)) {
      stored_.emplace(config, placed, operands.values.of(placed.rows->role));
    }
  }

  void run(std::vector<float>& result, TileOutcome& outcome) {
    const auto select = [this](std::int64_t row, std::vector<RowValue>& pairs) {
      const std::int64_t rows = config_.tile.rows;
      if (row / rows != group_) run_group(row / rows);
      pairs = products_[static_cast<std::size_t>(row % rows)];
    };
    const auto fetch = [this](std::int64_t stream, std::int64_t step, float* out) {
      return columns_.values(stream, step, out);
    };
    outcome += multiply_streams(*placed_.product, *placed_.rows, shape_, op_, fetch, select, result,
                                placed_.needed.get());
    outcome.compute_cycles += clock_cycles();
    TransposedGroups& transposed = outcome.transposed.emplace_back();
    transposed.columns = columns_.transposed_groups();
    if (!stored_) transposed.rows = rows_.transposed_groups();
  }

 private:
  // The products and the cycles of a row group.
  void run_group(std::int64_t group) {
    group_ = group;
    for (std::vector<RowValue>& of_row : products_) of_row.clear();
    if (stored_) {
      group_cycles_[static_cast<std::size_t>(group)] = stored_->run(group, products_);
    } else {
      load(group * config_.tile.rows);
      schedule(static_cast<std::size_t>(group));
    }
  }

  void load(std::int64_t first_row) {
    words_.clear();
    const std::int64_t rows = std::min(config_.tile.rows, placed_.rows->count() - first_row);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t step = 0; step < steps_; ++step) {
        words_.row(r)[step] =
            rows_.values(first_row + r, step,
                         &staged_[static_cast<std::size_t>((r * steps_ + step) * config_.tile.lanes)]);
      }
    }
  }

  void schedule(std::size_t group) {
    const Scheduler& scheduler = config_.scheduler;
    const int lanes = config_.tile.lanes;
    const auto& movements = scheduler.connectivity().movements();
    // The multiplexers: what each lane's selection reads from the staging buffers.
    const auto move = [&](std::int64_t row, std::int64_t position, const Selection& selection) {
      for (int lane = 0; lane < lanes; ++lane) {
        const std::int16_t selected = selection[static_cast<std::size_t>(lane)];
        if (selected == kIdle) continue;
        const Movement& movement = movements[static_cast<std::size_t>(selected)];
        const std::int64_t line = (position + movement.step) * lanes + scheduler.source_lane(lane, movement);
        products_[static_cast<std::size_t>(row)].push_back(
            {staged_[static_cast<std::size_t>(row * steps_ * lanes + line)],
             static_cast<std::int32_t>(line)});
      }
    };
    switch (config_.sync) {
      case RowSync::kLockstep:
        group_cycles_[group] = run_lockstep(scheduler, words_, move);
        break;
      case RowSync::kDecoupled:
        group_cycles_[group] = run_decoupled(scheduler, words_, move);
        break;
      case RowSync::kLines:
        group_lines_[group] = schedule_lines(scheduler, words_, move);
        break;
    }
  }

  std::int64_t clock_cycles() const {
    if (config_.sync == RowSync::kLines) {
      int skipped = 0;
      std::int64_t cycles = 0;
      for (const std::vector<bool>& empty : group_lines_) {
        for (std::int64_t column = 0; column < placed_.grid.column_groups; ++column) {
          cycles += count_lines(empty, config_.scheduler.connectivity().depth() - 1, skipped);
        }
      }
      return cycles;
    }
    return clock_row_groups(placed_, group_cycles_);
  }

  const Config& config_;
  const LayerShape& shape_;
  Operation op_;
  const PlacedProduct& placed_;
  OperandFetch rows_, columns_;
  std::int64_t steps_;
  std::optional<StoredSchedule> stored_;  // what is run, in place of the scheduler
  std::int64_t group_ = -1;               // the one in work
  GroupWords words_;
  std::vector<float> staged_;
  std::vector<std::vector<RowValue>> products_;  // of each row
  std::vector<std::int64_t> group_cycles_;
  std::vector<std::vector<bool>> group_lines_;
};

// Two-side: one scheduler per PE, each with its own selections, so pairs are multiplied one by one.
void run_two_side(const Config& config, const LayerShape& shape, Operation op, const PlacedProduct& placed,
                  const FunctionalOperands& operands, std::vector<float>& result, TileOutcome& outcome) {
  const OperandStreams& rows = *placed.rows;
  const OperandStreams& columns = *placed.columns;
  OperandFetch row_fetch(rows, operands.of(rows, op)), column_fetch(columns, operands.of(columns, op));
  const std::int64_t steps = rows.steps();
  const int lanes = config.tile.lanes;
  const Scheduler& scheduler = config.scheduler;
  const auto& movements = scheduler.connectivity().movements();
  const bool rows_are_text = placed.rows == &placed.product->primary;
  const auto load = [&](OperandFetch& fetch, std::int64_t stream, float* out, std::uint64_t* nonzero) {
    for (std::int64_t step = 0; step < steps; ++step) {
      nonzero[step] = fetch.values(stream, step, out + step * lanes);
    }
  };
  std::vector<std::uint64_t> row_nonzero(static_cast<std::size_t>(config.tile.rows * steps));
  std::vector<std::uint64_t> column_nonzero(static_cast<std::size_t>(steps));
  std::vector<float> row_values(static_cast<std::size_t>(config.tile.rows * steps * lanes));
  std::vector<float> column_values(static_cast<std::size_t>(config.tile.columns * steps * lanes));
  GroupWords pairs(config.tile.rows * config.tile.columns, steps, scheduler.connectivity().depth());
  TileClock clock(placed.grid);
  MultipliedPairs pairs_multiplied;
  for (const std::int64_t i : in_steps(placed.grid.row_groups)) {
    const std::int64_t row_count = std::min(config.tile.rows, rows.count() - i * config.tile.rows);
    for (std::int64_t r = 0; r < row_count; ++r) {
      load(row_fetch, i * config.tile.rows + r, &row_values[static_cast<std::size_t>(r * steps * lanes)],
           &row_nonzero[static_cast<std::size_t>(r * steps)]);
    }
    for (std::int64_t j = 0; j < placed.grid.column_groups; ++j) {
      const std::int64_t column_count =
          std::min(config.tile.columns, columns.count() - j * config.tile.columns);
      pairs.clear();
      for (std::int64_t c = 0; c < column_count; ++c) {
        load(column_fetch, j * config.tile.columns + c,
             &column_values[static_cast<std::size_t>(c * steps * lanes)], column_nonzero.data());
        for (std::int64_t r = 0; r < row_count; ++r) {
          for (std::int64_t step = 0; step < steps; ++step) {
            pairs.row(r * config.tile.columns + c)[step] =
                row_nonzero[static_cast<std::size_t>(r * steps + step)] &
                column_nonzero[static_cast<std::size_t>(step)];
          }
        }
      }
      std::vector<float> accumulators(static_cast<std::size_t>(pairs.rows()), 0.0F);
      const auto move = [&](std::int64_t pe, std::int64_t position, const Selection& selection) {
        const std::int64_t r = pe / config.tile.columns;
        const std::int64_t c = pe % config.tile.columns;
        for (int lane = 0; lane < lanes; ++lane) {
          const std::int16_t selected = selection[static_cast<std::size_t>(lane)];
          if (selected == kIdle) continue;
          const Movement& movement = movements[static_cast<std::size_t>(selected)];
          const std::int64_t line =
              (position + movement.step) * lanes + scheduler.source_lane(lane, movement);
          accumulators[static_cast<std::size_t>(pe)] +=
              row_values[static_cast<std::size_t>(r * steps * lanes + line)] *
              column_values[static_cast<std::size_t>(c * steps * lanes + line)];
          ++pairs_multiplied.all;
        }
      };
      clock.add_pair(i, j,
                     config.sync == RowSync::kDecoupled ? run_decoupled(scheduler, pairs, move)
                                                        : run_lockstep(scheduler, pairs, move));
      for (std::int64_t r = 0; r < row_count; ++r) {
        for (std::int64_t c = 0; c < column_count; ++c) {
          const std::int64_t row = i * config.tile.rows + r;
          const std::int64_t column = j * config.tile.columns + c;
          const std::int64_t at = rows_are_text ? placed.product->output_index(shape, op, row, column)
                                                : placed.product->output_index(shape, op, column, row);
          result[static_cast<std::size_t>(at)] +=
              accumulators[static_cast<std::size_t>(r * config.tile.columns + c)];
        }
      }
    }
  }
  pairs_multiplied.effectual = pairs_multiplied.all;
  outcome += pairs_multiplied;
  outcome.compute_cycles += clock.cycles();
  outcome.transposed.push_back({row_fetch.transposed_groups(), column_fetch.transposed_groups()});
}

}  // namespace

FunctionalOperands::FunctionalOperands(const Layer& layer, Operation op, const LayerValues& of,
                                       std::int64_t lanes)
    : values(of),
      primary(layer.shape, operands(op).primary, of.of(operands(op).primary), lanes),
      secondary(layer.shape, operands(op).secondary, of.of(operands(op).secondary), lanes) {}

void run_functional(const Config& config, const LayerShape& shape, Operation op, const PlacedProduct& placed,
                    const FunctionalOperands& operands, std::vector<float>& result, TileOutcome& outcome) {
  if (config.sides == Sides::kBoth) {
    run_two_side(config, shape, op, placed, operands, result, outcome);
  } else {
    OneSide(config, shape, op, placed, operands).run(result, outcome);
  }
}

}  // namespace lacuna::tensordash
