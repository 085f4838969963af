// The sums of a product, for functional engines: a machine says which pairs of a stream it multiplies, in
// which order; every stream of the other operand meets them.
#pragma once

#include <functional>
#include <vector>

#include "sim/tile/tile_grid.hpp"
#include "sim/workload/layer_values.hpp"
#include "sim/workload/operand_streams.hpp"

namespace lacuna {

// A pair that a lane multiplies: the selecting operand's value, and the line of the other operand's values.
struct RowValue {
  float value;
  std::int32_t line;  // step * lanes + lane
};

struct MultipliedPairs {
  std::int64_t all = 0;
  std::int64_t effectual = 0;  // the other operand is not zero either, if the selected values are not
};

// Appends the pairs of a stream that are multiplied to an empty list. Called several times per stream where
// the other operand has many.
using SelectPairs = std::function<void(std::int64_t stream, std::vector<RowValue>& pairs)>;

// As OperandStreams::values(), of values that may come through a memory.
using FetchValues = std::function<std::uint64_t(std::int64_t stream, std::int64_t step, float* lanes_out)>;

// Appends the non-zeros of a stream's step.
void append_nonzeros(const OperandStreams& streams, std::int64_t stream, std::int64_t step,
                     const TensorValues& values, std::vector<RowValue>& pairs);

// Adds the products to `result`, laid out as in reference.hpp, each sum in FP32 and in the order of its
// pairs. `selecting` is one of the two operands of `product`, `fetch` gives the values of the other.
// `needed`, whose rows are the selecting streams: the outputs that are computed, if not all are.
MultipliedPairs multiply_streams(const LaneProduct& product, const OperandStreams& selecting,
                                 const LayerShape& shape, Operation op, const FetchValues& fetch,
                                 const SelectPairs& select, std::vector<float>& result,
                                 const NeededOutputs* needed = nullptr);
// The same with the other operand's values as they are.
MultipliedPairs multiply_streams(const LaneProduct& product, const OperandStreams& selecting,
                                 const LayerShape& shape, Operation op, const LayerValues& values,
                                 const SelectPairs& select, std::vector<float>& result,
                                 const NeededOutputs* needed = nullptr);

// Every pair of every step, as a machine that skips nothing multiplies them; those with a zero add nothing.
// Gives back how many are effectual.
std::int64_t multiply_all(const std::vector<PlacedProduct>& products, const LayerShape& shape, Operation op,
                          const LayerValues& values, std::vector<float>& result);

}  // namespace lacuna
