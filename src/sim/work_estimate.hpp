// How much work a trace is, estimated before a simulation starts: a file of a few hundred bytes can declare
// layers that would keep an engine busy for years.
#pragma once

#include "sim/accelerator.hpp"

namespace lacuna {

// Work is counted in steps: a word of lanes that is scheduled, some MACs that are counted together. One takes
// about 10 ns of a core (Zen 4).

// Words of `lanes` that the machines of tiles read of their row operands in the three operations, whichever
// operand that is.
double tile_words(const LayerShape& shape, std::int64_t lanes);
// Setting up the products of a machine of tiles: one per convolution group and phase, each with its taps.
double tile_products(const LayerShape& shape);

// Throws InputError if the machine would take more steps than kFreeSteps and kStepsPerRecordedByte for each
// byte of masks that the trace holds. Layers as they are recorded stay below that, however large: a 3x3
// convolution of 2,048 channels has 74 thousand MACs per byte of A and G, one per step in the functional
// engine and 32 or more per step in the others. The free steps take less than a minute, so that shapes
// without masks (a dense network) can be simulated for batches of usual size.
constexpr double kFreeSteps = 0x1p32;
constexpr double kStepsPerRecordedByte = 0x1p18;
void check_work(const Trace& trace, const Accelerator& machine, Engine engine);

}  // namespace lacuna
