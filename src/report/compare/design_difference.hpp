// Differences between designs that are compared, which are said: a speedup over a design with half the memory
// is another result than one over its equal, and a machine that waits for memory is not compared with one
// that does not without a word.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "energy/components.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/result.hpp"

namespace lacuna {

// Describes the sizes (multipliers, memory, bandwidth) of which `design` has more or less than `reference`,
// among those that both have: "half the on-chip memory, twice the multipliers"; empty if they agree within 1
// %.
std::string design_difference(const Hardware& design, const Hardware& reference);

// The machines of a run whose size is not that of their baseline, of the first machine, or of their model
// with its defaults: one line for each difference, nothing if there is none. `runs` may hold several traces;
// each machine is named once.
std::string design_differences(std::span<const RunResult> runs,
                               const AcceleratorRegistry& registry = AcceleratorRegistry::instance());

// Returns whether waiting for memory is part of the run's cycles; nothing where the machine does not say.
std::optional<bool> waits_for_memory(const RunResult& run);

// One line about runs of which some wait for memory and others do not, with a newline before it; else empty.
std::string mixed_memory_warning(std::span<const RunResult> runs);

}  // namespace lacuna
