// The two engines, and what they have in common: cycles of streams to cycles of the chip.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cnvlutin/config.hpp"
#include "sim/tile/tile_chip.hpp"

namespace lacuna::cnvlutin {

// What the row streams of a product ask of the lanes.
struct StreamWork {
  std::vector<std::uint32_t> cycles;  // by stream: as long as its slowest lane
  std::int64_t nonzeros = 0;          // of all streams
};

// Adds what a product takes: cycles of the chip, and the machine's two counters.
void add_streams(const Config& config, const PlacedProduct& placed, const StreamWork& streams,
                 TileOutcome& outcome);

// --- fast engine: counts on bit masks ---
StreamWork count_streams(const Config& config, const OperandStreams& streams);

// The part of it whose lanes run over positions or images.
StreamWork count_transposed_lanes(const Config& config, const OperandStreams& streams);
// The same step by step, with windows cut into slices.
StreamWork count_sliced_streams(const Config& config, const OperandStreams& streams);

// --- functional engine: encoded values through lanes ---
void execute_product(const Config& config, const OperationWork& work, const PlacedProduct& placed,
                     const LayerValues& values, std::vector<float>& result, TileOutcome& outcome);

}  // namespace lacuna::cnvlutin
