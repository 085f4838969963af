// Values through the machine, step by step: each row has a detector that looks at the values of its lanes;
// the tile executes the step if one of them sees a non-zero.
#include <algorithm>

#include "models/template/engine.hpp"
#include "sim/tile/stream_products.hpp"

namespace lacuna::template_machine {
namespace {

// The steps that the rows of a tile execute together, from `first` on.
std::vector<std::int64_t> executed_steps(const OperandStreams& rows, const TensorValues& values,
                                         std::int64_t first, std::int64_t tile_rows) {
  const std::int64_t end = std::min(rows.count(), first + tile_rows);
  std::vector<float> lanes(static_cast<std::size_t>(rows.lanes));
  std::vector<std::int64_t> executed;
  for (std::int64_t step = 0; step < rows.steps(); ++step) {
    std::uint64_t seen = 0;
    for (std::int64_t stream = first; stream < end; ++stream) {
      seen |= rows.values(stream, step, values, lanes.data());
    }
    if (seen != 0) executed.push_back(step);
  }
  return executed;
}

}  // namespace

FunctionalWork run_functional(const Config& config, const LayerShape& shape, Operation op,
                              const PlacedProduct& placed, const LayerValues& values,
                              std::vector<float>& result) {
  const OperandStreams& rows = *placed.rows;
  const TensorValues& row_values = values.of(rows.role);
  std::vector<std::vector<std::int64_t>> executed;
  FunctionalWork work;
  for (std::int64_t group = 0; group < placed.grid.row_groups; ++group) {
    executed.push_back(executed_steps(rows, row_values, group * config.tile.rows, config.tile.rows));
    work.steps.push_back(std::ssize(executed.back()));
  }
  std::vector<float> lanes(static_cast<std::size_t>(rows.lanes));
  const auto select = [&](std::int64_t stream, std::vector<RowValue>& pairs) {
    for (const std::int64_t step : executed[static_cast<std::size_t>(stream / config.tile.rows)]) {
      const std::uint64_t nonzero = rows.values(stream, step, row_values, lanes.data());
      for (int lane = 0; lane < rows.lanes; ++lane) {
        // A zero is multiplied like any other value; its product need not be added here.
        if ((nonzero >> lane) & 1) {
          pairs.push_back(
              {lanes[static_cast<std::size_t>(lane)], static_cast<std::int32_t>(step * rows.lanes + lane)});
        }
      }
    }
  };
  const MultipliedPairs multiplied =
      multiply_streams(*placed.product, rows, shape, op, values, select, result);
  work.scheduled_macs = multiplied.all;
  work.effectual_macs = multiplied.effectual;
  return work;
}

}  // namespace lacuna::template_machine
