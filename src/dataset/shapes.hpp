// The built-in set: drawn, not stored. Ten kinds of figures in colour, of any size, place, rotation and pair
// of colours, on a shaded ground with clutter behind them and noise over all.
#pragma once

#include <cstdint>

#include "dataset/dataset.hpp"

namespace lacuna::dataset {

enum class Part : std::uint8_t { kTrain = 0, kTest = 1 };

// All channels have the same distribution and so share their mean and deviation, measured over the default
// training part.
inline constexpr float kShapesMean = 0.326F;
inline constexpr float kShapesDeviation = 0.2254F;

// Draws image `index` of a part: 3 x size x size bytes, planes of red, green, blue. Returns its label, which
// is index modulo ten. The same bytes on every machine: only additions, multiplications, divisions and square
// roots, whose rounding IEEE 754 defines.
int draw_shape(std::uint64_t seed, Part part, std::int64_t index, int size, std::uint8_t* planes);

DatasetPair open_shapes(const DatasetOptions& options);

}  // namespace lacuna::dataset
