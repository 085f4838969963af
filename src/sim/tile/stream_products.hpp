// The sums of a product, for functional engines: a machine says which pairs of a stream it multiplies, in
// which order; every stream of the other operand meets them.
#pragma once

#include <functional>
#include <vector>

#include "sim/tile/column_panel.hpp"
#include "sim/workload/layer_values.hpp"

namespace lacuna {

struct MultipliedPairs {
  std::int64_t all = 0;
  std::int64_t effectual = 0;  // the other operand is not zero either, if the selected values are not
};

// Appends the pairs of a stream that are multiplied to an empty list. Called several times per stream where
// the other operand has many.
using SelectPairs = std::function<void(std::int64_t stream, std::vector<RowValue>& pairs)>;

// Appends the non-zeros of a stream's step.
void append_nonzeros(const OperandStreams& streams, std::int64_t stream, std::int64_t step,
                     const TensorValues& values, std::vector<RowValue>& pairs);

// Adds the products to `result`, laid out as in reference.hpp. `selecting` is one of the two operands of
// `product`.
MultipliedPairs multiply_streams(const LaneProduct& product, const OperandStreams& selecting,
                                 const LayerShape& shape, Operation op, const LayerValues& values,
                                 const SelectPairs& select, std::vector<float>& result);

// Every pair of every step, as a machine that skips nothing multiplies them; those with a zero add nothing.
// Gives back how many are effectual.
std::int64_t multiply_all(const std::vector<LaneProduct>& products, const LayerShape& shape, Operation op,
                          const LayerValues& values, std::vector<float>& result);

}  // namespace lacuna
