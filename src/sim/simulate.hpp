// Runs every operation of every layer of a trace on a machine.
#pragma once

#include <functional>

#include "sim/accelerator.hpp"

namespace lacuna {

// Called after each finished operation with the share of the work done so far (by MACs), 0..1, from any
// thread but never from two at once.
using ProgressCallback = std::function<void(double)>;

// `arch` is the name shown in results. The first layer (index 0) has no input gradient: nobody needs the
// image's. The result does not depend on `threads`. Throws InputError for a trace that declares far more than
// it records (check_work()).
RunResult simulate_trace(const Trace& trace, const Accelerator& machine, std::string arch,
                         const SimOptions& options, int threads, const ProgressCallback& progress = {});

}  // namespace lacuna
