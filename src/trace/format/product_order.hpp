// The factors of matrix products in their two orders. A file has one product after another, [products, rows,
// channels]; machines take them as groups of one layer, [rows, products x channels].
#pragma once

#include "trace/format/trace_storage.hpp"

namespace lacuna {

// Returns true if the orders differ for a tensor. The right factors are [products x columns, channels] in
// both.
bool in_product_order(const LayerShape& shape, Operand role);

// From the file's order to the machines', and back. The new bytes belong to `storage`.
LayerTensor rows_first(const LayerTensor& tensor, std::int64_t products, TraceStorage& storage);
LayerTensor products_first(const LayerTensor& tensor, std::int64_t products, TraceStorage& storage);

}  // namespace lacuna
