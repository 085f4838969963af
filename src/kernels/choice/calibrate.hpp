// Measures when skipping zeros pays. The noise of the times decides how long it measures; what a busy machine
// disturbed is used by this process and not kept.
#pragma once

#include <string>

#include "kernels/choice/cost_model.hpp"
#include "kernels/conv.hpp"

namespace lacuna::kernels {

// The cost of this convolution on this machine: from the cache, or measured now (some tens of calls on random
// data in separate memory, about kPlanSeconds) and stored there.
CostCurve calibrated_cost(const LayerShape& shape, const ConvOptions& options);

// Cache key.
std::string calibration_key(const LayerShape& shape, const ConvOptions& options);

struct Calibration {
  CostCurve curve;
  double lost = 0;  // share of the time of its threads in which they waited for a core that others used
  bool busy = false;
};
inline constexpr double kPlanSeconds = 0.25;
// Re-measures for about `seconds`, longer if a few calls take longer.
Calibration calibrate(const LayerShape& shape, const ConvOptions& options, double seconds = kPlanSeconds);

// Measurements of this process so far.
struct CalibrationCount {
  int measured = 0, busy = 0;
};
CalibrationCount calibrations();

}  // namespace lacuna::kernels
