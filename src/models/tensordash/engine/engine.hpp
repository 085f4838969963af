// The two engines, and their common part: from the cycles of one product to the cycles of the chip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/tensordash/config.hpp"
#include "models/tensordash/engine/operand_fetch.hpp"
#include "sim/tile/tile_chip.hpp"
#include "sim/tile/tile_clock.hpp"

namespace lacuna::tensordash {

// --- plain engine: one group at a time with Scheduler; the `ref` of tests and benchmarks ---
std::int64_t plain_product_cycles(const Config& config, const PlacedProduct& placed);
std::vector<std::uint32_t> plain_row_group_cycles(const Config& config, const OperandStreams& streams);

// --- fast engine: bit masks, many groups at once ---
std::int64_t fast_product_cycles(const Config& config, const PlacedProduct& placed);
// Returns true if the fast engine has its own code for this configuration; otherwise the plain one runs.
bool fast_engine_supports(const Config& config);
// Returns the reason why it does not, as a sentence; empty if it does.
std::string slow_engine_reason(const Config& config);
// By the fast engine where it can, else by the plain one.
std::int64_t product_cycles(const Config& config, const PlacedProduct& placed);
// Cycles of each group of streams that the rows of a tile take at once, one-side. Not for sync=lines.
std::vector<std::uint32_t> row_group_cycles(const Config& config, const OperandStreams& streams);

// --- functional engine: values through staging buffers and multiplexers ---
// The operands of an operation as they lie in AM and BM, and as values for what is stored otherwise.
struct FunctionalOperands {
  const LayerValues& values;
  GroupedTensor primary, secondary;

  FunctionalOperands(const Layer& layer, Operation op, const LayerValues& of, std::int64_t lanes);
  const GroupedTensor& of(const OperandStreams& streams, Operation op) const {
    return streams.role == operands(op).primary ? primary : secondary;
  }
};
// Adds what a product takes to `outcome`, its sums to `result`.
void run_functional(const Config& config, const LayerShape& shape, Operation op, const PlacedProduct& placed,
                    const FunctionalOperands& operands, std::vector<float>& result, TileOutcome& outcome);

}  // namespace lacuna::tensordash
