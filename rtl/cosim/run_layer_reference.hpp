// Work for the tile that runs a layer (td_layer): an operation of a layer as register contents and memory
// images, and the result and cycles that the model gives for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace lacuna::rtl {

// Sizes of a td_layer.
struct LayerTileInfo {
  int rows = 4, columns = 4;
  int row_space = 64, column_space = 64;  // rows of three steps in half a scratchpad
};

// A tensor in memory, in blocks of 16 values.
struct MemoryImage {
  std::vector<float> values;
  std::vector<std::uint16_t> keep;  // by block: values that are elements of the tensor

  std::int64_t zeros() const;
  std::int64_t elements() const;
};

// A launch of the tile: an operation, or of a convolution in groups one group of it.
struct LayerLaunch {
  std::vector<std::uint32_t> registers;  // from OPERATION on, to BLOCKS
  MemoryImage am, bm;
  MemoryImage result;  // what CM must hold
};

struct LayerRun {
  std::string name;
  std::vector<LayerLaunch> launches;
  std::int64_t cycles = 0;        // of both engines, on one tile
  std::int64_t dense_cycles = 0;  // without skipping
};

// `seed`: of the values that are drawn at the masks' non-zeros, as the functional engine draws them. The
// functional engine is run, too: throws if it differs from the reference convolution or the fast engine.
LayerRun layer_run(const Layer& layer, Operation op, const LayerTileInfo& tile, std::uint64_t seed);

// Part of a layer: its first images, channels and filters, and of a convolution a part of the plane.
struct LayerCut {
  std::int64_t images = 1, channels = 1, filters = 1;
  Size2 plane;
};
// A trace of one layer with the zeros that the part has in `layer`; weight gradients and inputs of the other
// parts are left out. G is cut to the outputs that the smaller plane has.
Trace cut_layer(const Layer& layer, const LayerCut& cut);

}  // namespace lacuna::rtl
