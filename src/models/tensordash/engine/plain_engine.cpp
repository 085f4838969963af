#include <algorithm>

#include "base/ceil_div.hpp"
#include "base/work_progress.hpp"
#include "models/tensordash/engine/engine.hpp"
#include "models/tensordash/engine/row_group.hpp"
#include "sim/workload/stream_classes.hpp"

namespace lacuna::tensordash {
namespace {

// The words of the rows of one group; rows past the last stream stay empty and never limit.
void load_rows(const OperandStreams& streams, std::int64_t first, GroupWords& words) {
  words.clear();
  const std::int64_t rows = std::min(words.rows(), streams.count() - first);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t step = 0; step < words.steps(); ++step) {
      words.row(r)[step] = streams.word(first + r, step);
    }
  }
}

std::int64_t run_group(const Config& config, GroupWords& words) {
  return config.sync == RowSync::kDecoupled ? run_decoupled(config.scheduler, words)
                                            : run_lockstep(config.scheduler, words);
}

// Calls add(run(group)) for each group of `rows` streams, in order. Of streams without zeros, run() is called
// for one group of each kind.
template <typename Run, typename Add>
void for_each_group(const OperandStreams& streams, std::int64_t rows, const Run& run, const Add& add) {
  if (!has_no_zeros(streams)) {
    for (const std::int64_t group : in_steps(ceil_div(streams.count(), rows))) add(run(group));
    return;
  }
  const Alike alike = alike_groups(streams, rows);
  std::vector<decltype(run(std::int64_t{}))> of_kind;
  for (const std::int64_t group : alike.first) of_kind.push_back(run(group));
  for (const std::uint32_t kind : alike.kind) add(of_kind[kind]);
}

std::int64_t plain_lines(const Config& config, const PlacedProduct& placed) {
  const std::int64_t rows = config.tile.rows;
  const int depth = config.scheduler.connectivity().depth();
  GroupWords words(rows, placed.rows->steps(), depth);
  std::int64_t cycles = 0;
  int skipped = 0;
  for_each_group(
      *placed.rows, rows,
      [&](std::int64_t group) {
        load_rows(*placed.rows, group * rows, words);
        return schedule_lines(config.scheduler, words);
      },
      [&](const std::vector<bool>& empty) {
        for (std::int64_t column = 0; column < placed.grid.column_groups; ++column)
          cycles += count_lines(empty, depth - 1, skipped);
      });
  return cycles;
}

// A PE of row r and column c sees the pairs in which both operands are effectual.
std::int64_t plain_two_side(const Config& config, const PlacedProduct& placed) {
  const std::int64_t steps = placed.rows->steps();
  const int depth = config.scheduler.connectivity().depth();
  GroupWords rows(config.tile.rows, steps, depth);
  GroupWords columns(config.tile.columns, steps, depth);
  GroupWords pairs(config.tile.rows * config.tile.columns, steps, depth);
  TileClock clock(placed.grid);
  for (const std::int64_t i : in_steps(placed.grid.row_groups)) {
    load_rows(*placed.rows, i * config.tile.rows, rows);
    for (std::int64_t j = 0; j < placed.grid.column_groups; ++j) {
      load_rows(*placed.columns, j * config.tile.columns, columns);
      for (std::int64_t r = 0; r < config.tile.rows; ++r) {
        for (std::int64_t c = 0; c < config.tile.columns; ++c) {
          std::uint64_t* out = pairs.row(r * config.tile.columns + c);
          for (std::int64_t step = 0; step < steps; ++step)
            out[step] = rows.row(r)[step] & columns.row(c)[step];
        }
      }
      clock.add_pair(i, j, run_group(config, pairs));
    }
  }
  return clock.cycles();
}

}  // namespace

std::vector<std::uint32_t> plain_row_group_cycles(const Config& config, const OperandStreams& streams) {
  GroupWords words(config.tile.rows, streams.steps(), config.scheduler.connectivity().depth());
  std::vector<std::uint32_t> all;
  for_each_group(
      streams, config.tile.rows,
      [&](std::int64_t group) {
        load_rows(streams, group * config.tile.rows, words);
        return static_cast<std::uint32_t>(run_group(config, words));
      },
      [&](std::uint32_t cycles) { all.push_back(cycles); });
  return all;
}

std::int64_t plain_product_cycles(const Config& config, const PlacedProduct& placed) {
  if (config.sides == Sides::kBoth) return plain_two_side(config, placed);
  if (config.sync == RowSync::kLines) return plain_lines(config, placed);
  return clock_row_groups(placed, plain_row_group_cycles(config, *placed.rows));
}

}  // namespace lacuna::tensordash
