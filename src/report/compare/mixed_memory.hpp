// Whether results may stand in one table: a machine that waits for memory and one that does not are not
// compared without a word.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sim/result.hpp"

namespace lacuna {

// Returns whether waiting for memory is part of the run's cycles; nothing where the machine does not say.
std::optional<bool> waits_for_memory(const RunResult& run);

// One line about runs of which some wait for memory and others do not, with a newline before it; else empty.
std::string mixed_memory_warning(std::span<const RunResult> runs);

}  // namespace lacuna
