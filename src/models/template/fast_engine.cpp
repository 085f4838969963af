// Bit masks: a step is executed if a word of one of the rows has a bit.
#include <algorithm>

#include "base/work_progress.hpp"
#include "models/template/template_machine.hpp"

namespace lacuna::template_machine {

void TemplateMachine::count_product(const OperationWork&, const Placement&, const PlacedProduct& product,
                                    TileOutcome& outcome) const {
  const OperandStreams& rows = *product.rows;
  std::vector<std::int64_t> executed;
  std::vector<std::uint64_t> nonzero(static_cast<std::size_t>(rows.steps()));
  // Long loops go in steps: that moves the progress bar and lets a run be stopped.
  for (const std::int64_t group : in_steps(product.grid.row_groups)) {
    const std::int64_t first = group * tile().rows;
    const std::int64_t end = std::min(rows.count(), first + tile().rows);
    std::ranges::fill(nonzero, 0);
    for (std::int64_t stream = first; stream < end; ++stream) {
      for (std::int64_t step = 0; step < rows.steps(); ++step) {
        nonzero[static_cast<std::size_t>(step)] |= rows.word(stream, step);
      }
    }
    executed.push_back(rows.steps() - std::ranges::count(nonzero, 0U));
  }
  add_groups(product, executed, outcome);
}

}  // namespace lacuna::template_machine
