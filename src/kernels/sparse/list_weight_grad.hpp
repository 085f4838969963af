#pragma once

#include <memory>

#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

bool list_weight_grad_supports(const SparseConfig& config);
std::unique_ptr<SparseConv> make_list_weight_grad(const SparseConfig& config);

}  // namespace lacuna::kernels
