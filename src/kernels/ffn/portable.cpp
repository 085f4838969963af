// For any CPU.

#include "kernels/ffn/tile_loops.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = 4;  // SSE's
#include "kernels/sparse/simd.hpp"
// (order matters)
#include "kernels/ffn/tile_keep.hpp"
// and then
#include "kernels/ffn/tile_loops_simd.hpp"

}  // namespace

constinit const TileLoops kPortableTileLoops = {"portable", gather_tile_sums, tile_dots, keep_nonzeros};

}  // namespace lacuna::kernels
