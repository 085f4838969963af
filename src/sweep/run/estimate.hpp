// An estimate of the time and memory that a sweep takes.
#pragma once

#include "sweep/run/runner.hpp"

namespace lacuna::sweep {

struct Estimate {
  double seconds = 0;
  double bytes = 0;
};

// Opens the traces of the remaining work, for their shapes, and computes a few points to measure the speed of
// this machine (about a second).
Estimate estimate(Sweep& sweep, const WorkList& work, int threads);

}  // namespace lacuna::sweep
