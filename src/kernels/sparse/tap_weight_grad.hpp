#pragma once

#include <memory>

#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

bool tap_weight_grad_supports(const SparseConfig& config);
std::unique_ptr<SparseConv> make_tap_weight_grad(const SparseConfig& config);

}  // namespace lacuna::kernels
