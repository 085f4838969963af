// Plain C++ for any CPU.
#include "kernels/pruned/kernels.hpp"

namespace lacuna::kernels {
namespace {

#include "kernels/sparse/portable_vector.hpp"

using Simd = PortableVector;

#include "kernels/pruned/few_registers.hpp"

}  // namespace

constinit const PrunedKernels kPortablePruned = {"portable", pruned_rows,  kept_rows,
                                                 pack_lanes, unpack_lanes, nonzeros};

}  // namespace lacuna::kernels
