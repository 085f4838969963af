// A trace as a machine of a narrower data type sees it.
#pragma once

#include <optional>

#include "tensor/data_type.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// Returns the trace with the masks of its values as `type` holds them: 1e-41 is a zero in bfloat16. Nothing
// if no recorded value rounds to zero.
std::optional<Trace> rounded_to(const Trace& trace, DataType type);

}  // namespace lacuna
