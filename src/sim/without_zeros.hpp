// Cycles and actions of a machine if no value were zero: those of the same machine on the same trace without
// a single zero. The speedup over a baseline that is left then is not what zeros give: it comes from empty
// slots (lanes that channels, positions or samples do not fill, the border of an image), from other numbers
// of multipliers, or is a slowdown that zeros have to make up for.
#pragma once

#include <optional>
#include <vector>

#include "sim/accelerator.hpp"

namespace lacuna {

// The same layers with every value of A, W and G non-zero, as masks. Whatever machines decide by the share of
// zeros they decide again: the operand that is scheduled, power gating, compression on the DRAM bus, what
// fits on the chip. A machine on this trace takes what it would take on a recording of such a network.
Trace trace_without_zeros(const Trace& recorded);

// Returns whether none of the layer's tensors has a zero.
bool has_no_zeros(const Layer& layer);

}  // namespace lacuna
