// Differences in size between designs that are compared: multipliers, memory, bandwidth. A speedup over a
// design with half the memory is another result than one over its equal, so it is said.
#pragma once

#include <span>
#include <string>

#include "energy/components.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/result.hpp"

namespace lacuna {

// Describes the totals of which `design` has more or less than `reference`, among those that both have: "half
// the on-chip memory, twice the multipliers"; empty if they agree within 1 %.
std::string design_difference(const Hardware& design, const Hardware& reference);

// The machines of a run whose size is not that of their baseline, of the first machine, or of their model
// with its defaults: one line for each difference, nothing if there is none. `runs` may hold several traces;
// each machine is named once.
std::string design_differences(std::span<const RunResult> runs,
                               const AcceleratorRegistry& registry = AcceleratorRegistry::instance());

}  // namespace lacuna
