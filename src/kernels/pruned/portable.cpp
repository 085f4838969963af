// For any CPU.
#include "kernels/pruned/kernels.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = 4;  // SSE's
#include "kernels/sparse/simd.hpp"
// (order matters)
#include "kernels/pruned/few_registers.hpp"

}  // namespace

constinit const PrunedKernels kPortablePruned = {"portable", pruned_rows,  kept_rows,
                                                 pack_lanes, unpack_lanes, nonzeros};

}  // namespace lacuna::kernels
