// AVX2 and FMA: a vector of 16 is two registers.
#include <immintrin.h>

#include "kernels/ffn/tile_loops.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = 8;
#include "kernels/sparse/simd.hpp"
// (order matters)
#include "kernels/ffn/tile_keep.hpp"
// and then
#include "kernels/ffn/tile_loops_simd.hpp"

}  // namespace

constinit const TileLoops kAvx2TileLoops = {"avx2", gather_tile_sums, tile_dots, keep_nonzeros};

}  // namespace lacuna::kernels
