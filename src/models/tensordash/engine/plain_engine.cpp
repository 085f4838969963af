#include <algorithm>

#include "models/tensordash/engine/engine.hpp"
#include "models/tensordash/engine/row_group.hpp"

namespace lacuna::tensordash {
namespace {

// The words of the rows of one group; rows past the last stream stay empty and never limit.
void load_rows(const OperandStreams& streams, std::int64_t first, bool fill_padding, GroupWords& words) {
  words.clear();
  const std::int64_t rows = std::min(words.rows(), streams.count() - first);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t step = 0; step < words.steps(); ++step) {
      words.row(r)[step] = streams.word(first + r, step, fill_padding);
    }
  }
}

std::int64_t run_group(const Config& config, GroupWords& words) {
  return config.sync == RowSync::kDecoupled ? run_decoupled(config.scheduler, words)
                                            : run_lockstep(config.scheduler, words);
}

std::int64_t one_side(const Config& config, const PlacedProduct& placed, bool fill_padding) {
  const std::int64_t steps = placed.rows->steps();
  const int depth = config.scheduler.connectivity().depth();
  GroupWords words(config.tile.rows, steps, depth);
  if (config.sync == RowSync::kLines) {
    std::int64_t cycles = 0;
    int skipped = 0;
    for (std::int64_t group = 0; group < placed.grid.row_groups; ++group) {
      load_rows(*placed.rows, group * config.tile.rows, fill_padding, words);
      const std::vector<bool> empty = schedule_lines(config.scheduler, words);
      for (std::int64_t column = 0; column < placed.grid.column_groups; ++column) {
        cycles += count_lines(empty, depth - 1, skipped);
      }
    }
    return cycles;
  }
  TileClock clock(placed.grid);
  for (std::int64_t group = 0; group < placed.grid.row_groups; ++group) {
    load_rows(*placed.rows, group * config.tile.rows, fill_padding, words);
    clock.add_row_group(group, run_group(config, words));
  }
  return clock.cycles();
}

// A PE of row r and column c sees the pairs in which both operands are effectual.
std::int64_t two_side(const Config& config, const PlacedProduct& placed, bool fill_padding) {
  const std::int64_t steps = placed.rows->steps();
  const int depth = config.scheduler.connectivity().depth();
  GroupWords rows(config.tile.rows, steps, depth);
  GroupWords columns(config.tile.columns, steps, depth);
  GroupWords pairs(config.tile.rows * config.tile.columns, steps, depth);
  TileClock clock(placed.grid);
  for (std::int64_t i = 0; i < placed.grid.row_groups; ++i) {
    load_rows(*placed.rows, i * config.tile.rows, fill_padding, rows);
    for (std::int64_t j = 0; j < placed.grid.column_groups; ++j) {
      load_rows(*placed.columns, j * config.tile.columns, fill_padding, columns);
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

std::int64_t plain_product_cycles(const Config& config, const PlacedProduct& placed, bool fill_padding) {
  return config.sides == Sides::kBoth ? two_side(config, placed, fill_padding)
                                      : one_side(config, placed, fill_padding);
}

}  // namespace lacuna::tensordash
