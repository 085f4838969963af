// Accumulators of a tile after every cycle: the model's selections, the PE's order of additions, the CPU's
// arithmetic. The caller must have set MXCSR to flush denormals, as the units do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensordash_reference.hpp"

namespace lacuna::rtl {

// Accumulators of all PEs (row-major) after one issued cycle, as FP32 bits. Where an accumulator is several
// sums: their total.
struct TileCycle {
  bool last = false;  // the output is complete
  std::vector<std::uint32_t> accumulators;
};

struct TileShapeInfo {
  int rows = 4, columns = 4, width = 32;  // width: bits of an operand, 32 or 16
  bool skips = true;                      // false: the baseline, one cycle per step
  bool pairs = false;                     // zeros of both operands are skipped, one scheduler per PE
  // Registers for a faster clock, as td_tile's parameters.
  int operand_reg = 0, mul_regs = 0, add_regs = 0;
  int sums() const { return 1 + add_regs; }  // of an accumulator
};

// `b`: streams of the rows, which are scheduled; `a`: of the columns.
std::vector<TileCycle> tile_cycles(const std::string& spec, int depth, const TileShapeInfo& tile,
                                   const StreamGroup& b, const StreamGroup& a);

}  // namespace lacuna::rtl
