// Cycles of the pairs of a convolution, before they are put on PEs: what designs have in common that differ
// in their number of PEs, their pipe or their memories only.
#pragma once

#include <optional>
#include <vector>

#include "sim/outer_product/machine_config.hpp"
#include "sim/outer_product/processing_element.hpp"
#include "sim/outer_product/schedule.hpp"
#include "sim/outer_product/work.hpp"
#include "sim/workload/operation_work.hpp"

namespace lacuna::outer_product {

// Pairs of one block whose PE depends on the kernel alone, added up: those of an image column and a kernel.
struct BlockCosts {
  struct Cell {
    std::int64_t cycles = 0, pairs = 0;
    std::int64_t filled = 0;  // pairs with cycles
  };
  std::int64_t columns = 1, kernels = 1;
  std::vector<Cell> cells;  // [column][kernel]

  Cell& at(std::int64_t column, std::int64_t kernel) {
    return cells[static_cast<std::size_t>(column * kernels + kernel)];
  }
  const Cell& at(std::int64_t column, std::int64_t kernel) const {
    return cells[static_cast<std::size_t>(column * kernels + kernel)];
  }
};

// Counts a convolution set by set; nothing for machines and shapes that need to look at pairs one by one
// (count_pair_by_pair()). `sharing_key` names what the costs depend on besides operation and mapping.
std::optional<PairCounts> count_by_sets(const OperationWork& operation, const MachineConfig& config,
                                        const ProcessingElement& pe, const std::string& sharing_key,
                                        Schedule& schedule);

}  // namespace lacuna::outer_product
