#include "train/optimizer/rate_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lacuna::train {

double RateSchedule::at(std::int64_t step) const {
  const double done =
      std::clamp(static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(steps, 1)), 0.0, 1.0);
  double now = rate;
  if (kind == Kind::kCosine) now = rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
  if (kind == Kind::kStep) now = rate * (done >= 0.75 ? 0.01 : done >= 0.5 ? 0.1 : 1);
  if (step < warmup) now *= static_cast<double>(step + 1) / static_cast<double>(warmup);
  return now;
}

}  // namespace lacuna::train
