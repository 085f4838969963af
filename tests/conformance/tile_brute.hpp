// The chip of tiles and its memory once more, written from docs/assumptions.md (A1 to A3, A10 to A15, A19)
// and docs/models/tensordash.md alone: every tile, block and pass is visited and every access counted by
// itself. It shares no code with src/sim/tile or src/sim/workload. Only for comparison; it is slow on
// purpose.
#pragma once

#include <cstdint>

#include "sim/memory/activity.hpp"
#include "tensor/operation.hpp"
#include "trace/trace.hpp"

namespace lacuna::testing {

// The parameters of the machines under their own names.
struct TileBruteConfig {
  std::int64_t tiles = 16, rows = 4, columns = 4, lanes = 16;
  bool square_grid = false;
  bool in_turns = false;  // tile_dealing=turns; traffic is that of queue as well
  bool modelled = true;
  std::int64_t value_bytes = 4;
  double frequency_mhz = 500;
  std::int64_t dram_channels = 4, dram_channel_bits = 64, dram_mts = 3200, dram_page_bytes = 2048;
  double dram_row_ns = 60.625;
  std::int64_t dram_banks = 8;
  bool dram_controller = true;  // dram_timing
  double dram_refresh_percent = 7.17, dram_turnaround_ns = 68, dram_activate_ns = 10;
  std::int64_t dram_turn_kb = 64;
  bool dram_compression = true;
  std::int64_t sram_banks = 4, multicast = 4, scratchpad_banks = 3, scratchpad_rows = 16, chunk_steps = 3;
  std::int64_t transposers = 15, transposer_cycles = 16;
  bool transpose_a = false;  // in A*G: transposed=all
};

// The operand with the larger share of zeros; on a tie A in A*W, G in W*G and in A*G (A1).
Operand brute_sparser_operand(const Layer& layer, Operation op);

// Cycles of the tiles if every pair is multiplied, one step per cycle.
std::int64_t brute_dense_cycles(const Layer& layer, Operation op, Operand rows_operand,
                                const TileBruteConfig& config);

// Work of the memory, and the cycles of the operation with it (`total`), if the tiles alone take
// `compute_cycles`.
struct TileBruteResult {
  Activity activity;
  std::int64_t total = 0;
};
TileBruteResult brute_tile_memory(const Layer& layer, Operation op, Operand rows_operand, double batch_scale,
                                  std::int64_t compute_cycles, const TileBruteConfig& config);

}  // namespace lacuna::testing
