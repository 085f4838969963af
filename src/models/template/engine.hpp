// The two engines, and what they share: cycles of groups of streams to cycles of the chip.
#pragma once

#include <cstdint>
#include <vector>

#include "models/template/config.hpp"
#include "sim/workload/layer_values.hpp"

namespace lacuna::template_machine {

// By group of streams that are on a tile's rows together: steps in which one of them has a non-zero.
using GroupSteps = std::vector<std::int64_t>;

std::int64_t chip_cycles(const Config& config, const TileGrid& grid, const GroupSteps& steps);

// --- fast engine: bit masks ---
GroupSteps count_steps(const Config& config, const PlacedProduct& placed);

// --- functional engine: values ---
struct FunctionalWork {
  GroupSteps steps;                 // that were executed
  std::int64_t scheduled_macs = 0;  // pairs whose row value is not zero
  std::int64_t effectual_macs = 0;  // of those, the other value is not zero either
};
// Adds the products to `result`. Decides by values alone, never by masks: the conformance suite runs it on
// layers whose masks are wrong.
FunctionalWork run_functional(const Config& config, const LayerShape& shape, Operation op,
                              const PlacedProduct& placed, const LayerValues& values,
                              std::vector<float>& result);

}  // namespace lacuna::template_machine
