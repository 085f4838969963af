#pragma once

#include <memory>

#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

bool packed_conv_supports(const SparseConfig& config);
std::unique_ptr<SparseConv> make_packed_conv(const SparseConfig& config);

}  // namespace lacuna::kernels
