// Timing of two or more calls that take nearly the same time, until the noise is small.
#pragma once

#include <functional>
#include <vector>

namespace lacuna::kernels {

struct RaceLimits {
  double precision = 0.005;  // error of a median ratio at which it ends
  double close = 0.10;       // farther from 1 than this, a ratio need not be so precise
  int min_rounds = 4;
  int max_rounds = 400;
  double seconds = 1;  // of all calls together; min_rounds are run in any case
};

struct RaceResult {
  std::vector<double> ratios;  // median over rounds of the time of each other / ours
  std::vector<double> errors;  // standard errors of the ratios
  int rounds = 0;
};

// Each call returns its own time. Rounds alternate between forward and backward order, so that none
// always runs right after the same other.
RaceResult race(const std::function<double()>& ours, const std::vector<std::function<double()>>& others,
                const RaceLimits& limits, const std::function<bool()>& stop = {});

double median(std::vector<double> values);
// Standard error of the median of values with noise of any kind: from their median distance to it.
double median_error(const std::vector<double>& values);

}  // namespace lacuna::kernels
