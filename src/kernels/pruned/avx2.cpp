// AVX2 and FMA: a vector of 16 is two registers.
#include <immintrin.h>

#include "kernels/pruned/kernels.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = 8;
#include "kernels/sparse/simd.hpp"
// (order matters)
#include "kernels/pruned/few_registers.hpp"

}  // namespace

constinit const PrunedKernels kAvx2Pruned = {"avx2",     pruned_rows,  kept_rows,
                                             pack_lanes, unpack_lanes, nonzeros};

}  // namespace lacuna::kernels
