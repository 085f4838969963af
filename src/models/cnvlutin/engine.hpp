// The two engines, and what they have in common: cycles of streams to cycles of the chip.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cnvlutin/config.hpp"
#include "sim/workload/layer_values.hpp"

namespace lacuna::cnvlutin {

// What the row streams of a product ask of the lanes.
struct StreamWork {
  std::vector<std::uint32_t> cycles;  // by stream: as long as its slowest lane
  std::int64_t nonzeros = 0;          // of all streams
};

// What a product did.
struct ProductWork {
  std::int64_t cycles = 0;
  std::int64_t column_reads = 0;      // a lane asking for its values of all columns of the tile
  std::int64_t idle_lane_cycles = 0;  // of a row's lanes that wait for the slowest
};

std::int64_t chip_cycles(const Config& config, const TileGrid& grid,
                         const std::vector<std::uint32_t>& cycles);
ProductWork product_work(const Config& config, const PlacedProduct& placed, const StreamWork& streams);

// --- fast engine: counts on bit masks ---
StreamWork count_streams(const Config& config, const OperandStreams& streams);

// The part of it whose lanes run over positions or images.
StreamWork count_transposed_lanes(const Config& config, const OperandStreams& streams);
// The same step by step, with windows cut into slices.
StreamWork count_sliced_streams(const Config& config, const OperandStreams& streams);

// --- functional engine: encoded values through lanes ---
struct FunctionalWork {
  StreamWork streams;
  std::int64_t scheduled_macs = 0;  // products the multipliers computed
  std::int64_t effectual_macs = 0;  // of those, both factors were not zero
};
FunctionalWork run_functional(const Config& config, const LayerShape& shape, Operation op,
                              const PlacedProduct& placed, const LayerValues& values,
                              std::vector<float>& result);

}  // namespace lacuna::cnvlutin
