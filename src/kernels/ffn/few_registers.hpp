// The loops for instruction sets with few registers and no vectors of masks. Included by one file for each,
// which defines the width of its registers and the name of its table.
#include "kernels/ffn/tile_loops.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = LACUNA_WIDTH;  // floats in a register
#include "kernels/sparse/simd.hpp"

inline std::int64_t keep_nonzeros(const float* from, std::int64_t count, bool positive, float threshold,
                                  float* values, std::uint16_t* offsets) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = from[i];
    values[found] = value;
    offsets[found] = static_cast<std::uint16_t>(i * kPanelColumns);
    const bool kept = positive ? !(value <= threshold) : value != 0.0F;
    found += static_cast<int>(kept);
  }
  return found;
}

#include "kernels/ffn/few_registers_sum4.hpp"
#include "kernels/ffn/tile_loops_simd.hpp"

}  // namespace

constinit const TileLoops LACUNA_TABLE = {LACUNA_ISA, gather_tile_sums, tile_dots, keep_nonzeros};

}  // namespace lacuna::kernels
