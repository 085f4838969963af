// The passes of one instruction set. Included by one file for each, which defines the width of its vectors
// and the name of its table. GCC's vectors are the only abstraction: Highway could replace the twenty lines
// of block.hpp and nothing else.
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
};

}  // namespace lacuna::train
