// The loops for instruction sets with few registers and no vectors of masks. Included by one file for each,
// which defines the width of its registers and the name of its table.
#include "kernels/needed/needed_loops.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = LACUNA_WIDTH;  // floats in a register
#include "kernels/sparse/simd.hpp"
// (order matters)
#include "kernels/ffn/few_registers_sum4.hpp"
// (order matters)
#include "kernels/needed/dots_simd.hpp"

void list_row(const NeededRow& row) {
  for (std::int64_t x = 0; x < row.width; ++x) {
    const float* pixel = row.src + x * row.src_step;
    for (int lane = 0; lane < kLanes; ++lane) {
      std::int32_t& count = row.counts[lane];
      row.slots[lane * row.stride + count] = static_cast<std::uint16_t>(row.first_slot + x);
      count += pixel[lane] != 0.0F ? 1 : 0;
    }
  }
}

void dots(const NeededDots& d) {
  for (std::int64_t i = 0; i < d.count; i += 4) dot_group<4>(d, d.slots + i, d.sums + i);
}

}  // namespace

constinit const NeededLoops LACUNA_TABLE = {LACUNA_ISA, list_row, dots};

}  // namespace lacuna::kernels
