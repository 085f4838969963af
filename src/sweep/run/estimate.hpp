// How long a sweep will take and how much memory, about.
#pragma once

#include "sweep/run/runner.hpp"

namespace lacuna::sweep {

struct Estimate {
  double seconds = 0;
  double bytes = 0;
};

// Opens the traces of the work that is left, for their shapes, and computes a few points to see how fast this
// machine is (about a second).
Estimate estimate(Sweep& sweep, const WorkList& work, int threads);

}  // namespace lacuna::sweep
