// The rule of src/models/template once more, from its one sentence: a step of the streams on a tile's rows is
// skipped if it has no non-zero in any of them. On one tile; shares no code with the tiles of src/sim.
#pragma once

#include <algorithm>

#include "sim/testing/plain_tiles.hpp"

namespace lacuna::testing {

inline std::int64_t step_skip_cycles(const Layer& layer, Operation op, std::int64_t rows,
                                     std::int64_t columns, std::int64_t lanes) {
  const PlainTiles plain(layer, op, lanes);
  const bool swapped = PlainTiles::secondary_is_sparser(layer, op);
  std::int64_t cycles = 0;
  for (const PlainProduct& product : plain.products()) {
    const auto& on_rows = swapped ? product.secondary : product.primary;
    const auto& on_columns = swapped ? product.primary : product.secondary;
    const auto count = static_cast<std::int64_t>(on_rows.size());
    const std::int64_t column_groups = (static_cast<std::int64_t>(on_columns.size()) + columns - 1) / columns;
    for (std::int64_t first = 0; first < count; first += rows) {
      std::int64_t executed = 0;
      for (std::size_t step = 0; step < on_rows[0].size(); ++step) {
        bool any = false;
        for (std::int64_t stream = first; stream < std::min(first + rows, count); ++stream) {
          const PlainStep& lanes_of = on_rows[static_cast<std::size_t>(stream)][step];
          any |= std::ranges::find(lanes_of, Lane::kNonzero) != lanes_of.end();
        }
        executed += any ? 1 : 0;
      }
      cycles += std::max<std::int64_t>(executed, 1) * column_groups;
    }
  }
  return cycles;
}

}  // namespace lacuna::testing
