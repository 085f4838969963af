// The passes of one instruction set. Included by one file for each, which defines the width of its vectors
// and the name of its table. GCC's vectors are the only abstraction. The same passes by Highway give the same
// bits at the same speed (AVX2, AVX-512), but Debian's Highway 1.0 has no code for SSE2 alone: portable
// passes would take 3.5 times as long.
#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

constexpr int kWidth = LACUNA_PASSES_WIDTH;  // floats in a vector register
#include "train/passes/block.hpp"
// (order matters)
#include "train/passes/norm_passes.hpp"
#include "train/passes/pool_passes.hpp"

}  // namespace

constinit const Passes LACUNA_PASSES = {
    .isa = LACUNA_PASSES_ISA,
    .moments = moments,
    .normalize = normalize,
    .norm_sums = norm_sums,
    .norm_gradient = norm_gradient,
    .relu = relu,
    .relu_gradient = relu_gradient,
    .max_pool = max_pool,
    .max_pool_gradient = max_pool_gradient,
    .sgd = sgd,
    .adamw = adamw,
};

}  // namespace lacuna::train
