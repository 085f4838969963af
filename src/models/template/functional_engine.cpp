// Values through the machine, step by step: each row has a detector that looks at the values of its lanes;
// the tile executes the step if one of them sees a non-zero.
#include <algorithm>

#include "base/work_progress.hpp"
#include "models/template/template_machine.hpp"
#include "sim/tile/stream_products.hpp"

namespace lacuna::template_machine {
namespace {

// The steps that the rows of a tile execute together, from stream `first` on.
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

void TemplateMachine::execute(const OperationWork& work, const Placement& placement, LayerValues& values,
                              std::vector<float>& computed, TileOutcome& outcome) const {
  for (const PlacedProduct& product : in_steps(placement.placed)) {
    const OperandStreams& rows = *product.rows;
    const TensorValues& row_values = values.of(rows.role);
    std::vector<std::vector<std::int64_t>> executed;
    std::vector<std::int64_t> counts;
    for (std::int64_t group = 0; group < product.grid.row_groups; ++group) {
      executed.push_back(executed_steps(rows, row_values, group * tile().rows, tile().rows));
      counts.push_back(std::ssize(executed.back()));
    }
    const auto select = [&](std::int64_t stream, std::vector<RowValue>& pairs) {
      for (const std::int64_t step : executed[static_cast<std::size_t>(stream / tile().rows)])
        append_nonzeros(rows, stream, step, row_values, pairs);
    };
    outcome += multiply_streams(*product.product, rows, work.layer.shape, work.op, values, select, computed);
    add_groups(product, counts, outcome);
  }
}

}  // namespace lacuna::template_machine
