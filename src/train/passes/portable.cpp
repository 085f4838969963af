#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

constexpr int kWidth = 4;  // floats in a vector register
#include "train/passes/block.hpp"
// (order matters)
#include "train/passes/norm_passes.hpp"
#include "train/passes/pool_passes.hpp"

}  // namespace

constinit const Passes kPortablePasses = {
    .isa = "portable",
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
