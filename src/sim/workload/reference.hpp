// The reference every functional engine is compared with: the three convolutions of training, computed
// plainly.
#pragma once

#include <vector>

#include "sim/workload/layer_values.hpp"
#include "tensor/operation.hpp"

namespace lacuna {

// Number of results of an operation: outputs, input gradients or weight gradients.
std::int64_t result_elements(const LayerShape& shape, Operation op);

// The operation's result with channels last: outputs [n, ho, wo, k], input gradients [n, h, w, c], weight
// gradients [k, kh, kw, c/groups]. Accumulates in double.
std::vector<double> reference_result(const LayerShape& shape, Operation op, const LayerValues& values);

// The largest rounding error an FP32 accumulation in any order may have for each result: the number of
// products times 2^-24 times the sum of their magnitudes (Higham 2002, §3.1), doubled for the products' own
// rounding. Throws std::logic_error naming the first result outside it, or any difference at all where both
// are exact. `needed`: results outside this mask must be 0, since they are not computed.
void check_against_reference(const LayerShape& shape, Operation op, const LayerValues& values,
                             const std::vector<float>& computed, const MaskView* needed = nullptr);

}  // namespace lacuna
