// Estimate of a trace's work, made before a simulation starts: a file of a few hundred bytes can declare
// layers that would keep an engine busy for years.
#pragma once

#include "sim/accelerator.hpp"

namespace lacuna {

// Work is counted in steps: a word of lanes that is scheduled, some MACs that are counted together. One takes
// 0.1 to 5 ns of a core (Zen 4, masks with half of their bits set).

// Words of `lanes` that the machines of tiles read of their row operands in the three operations, whichever
// operand that is.
double tile_words(const LayerShape& shape, std::int64_t lanes);
// Setting up the products of a machine of tiles: one per convolution group and phase, each with its taps.
double tile_products(const LayerShape& shape);

// The steps of all layers.
double estimated_work(const Trace& trace, const Accelerator& machine, Engine engine);

// Limit of the steps of a trace: a number that every trace has, and some for each byte that it is stored
// in. Stored, not decompressed: a mask of one repeated row takes a few bytes of a compressed file. The free
// steps take some seconds, half a minute at most, so that shapes without masks (a dense network) can be
// simulated for batches of usual size. Traces of real trainings need less than a quarter of what they may
// (RecordedTraces.AskForMuchLessWorkThanTheyMay). A layer without zeros takes a few bytes of a compressed
// file whatever its size, but little work too: engines count one of each kind of its streams.
constexpr double kFreeSteps = 0x1p32;
constexpr double kStepsPerStoredByte = 0x1p16;
// In the functional engine a step is mostly one MAC.
constexpr double kFunctionalFactor = 8;
double allowed_work(const Trace& trace, Engine engine);

// Throws InputError if the machine would take more steps than allowed_work().
void check_work(const Trace& trace, const Accelerator& machine, Engine engine);

}  // namespace lacuna
