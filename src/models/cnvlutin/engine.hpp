// Parameters of Cnvlutin, its two engines, and what they have in common: cycles of streams to cycles of the
// chip.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/params.hpp"
#include "sim/tile/tile_chip.hpp"
#include "sim/tile/tile_grid.hpp"

namespace lacuna::cnvlutin {

// ASSUMPTION(C1): what a brick, the unit of encoding, is cut from.
enum class Bricks {
  kLane,  // values that one lane takes from consecutive steps: the lanes share a window as on the dense tiles
  kStep,  // the values of one step: a whole brick goes to one lane
};

struct Config {
  TileShape tile;
  Bricks bricks = Bricks::kLane;
  std::int64_t brick_values = 16;
  std::int64_t empty_brick_cycles = 0;
  std::int64_t window_cycles = 1;
  std::int64_t slice_steps = 0;  // 0: a whole window
  bool rows_wait = true;         // for each other at the end of each group of windows

  // Bits that say where in its brick a value belongs.
  int offset_bits() const;

  // Parameters of Cnvlutin alone; its tiles have those of TileChip.
  static std::vector<ParamSpec> params();
  static Config from(const Params& params, const TileShape& tile);
};

// kSpread[b]: each bit of b as a separate byte, to count eight of them in one addition of 64 bits. Sums of up
// to 255 of them do not overflow.
inline constexpr std::array<std::uint64_t, 256> kSpread = [] {
  std::array<std::uint64_t, 256> spread{};
  for (std::size_t b = 0; b < 256; ++b) {
    for (std::size_t i = 0; i < 8; ++i) spread[b] |= static_cast<std::uint64_t>((b >> i) & 1) << (8 * i);
  }
  return spread;
}();

// Lane work of the row streams of a product.
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
