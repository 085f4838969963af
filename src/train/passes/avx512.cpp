#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

constexpr int kWidth = 16;  // floats in a vector register
#include "train/passes/block.hpp"
// (order matters)
#include "train/passes/norm_passes.hpp"
#include "train/passes/pool_passes.hpp"
#include "train/passes/table.hpp"

}  // namespace

constinit const Passes kAvx512Passes = table("avx512");

}  // namespace lacuna::train
