// The study behind `lacuna storage`: tensors in scheduled form next to the usual formats for zeros
// [TensorDash §3.6], and whether backside schedulers keep up [TensorDash §3.7]. Both functions may call
// parallel_for and leave `subject` to the caller.
#pragma once

#include <vector>

#include "base/params.hpp"
#include "sim/accelerator.hpp"
#include "sim/storage_study.hpp"

namespace lacuna::tensordash {

// Parameters of the study; no name is a parameter of the machine too.
std::vector<ParamSpec> storage_study_params();

// `machine` is a TensorDash; `params` are those above, checked.
StorageSizes study_sizes(const Trace& trace, const Accelerator& machine, const Params& params);
// Throws InputError as simulate_trace() does.
BacksideLoads study_backside(const Trace& trace, const Accelerator& machine, const Params& params,
                             int threads);

}  // namespace lacuna::tensordash
