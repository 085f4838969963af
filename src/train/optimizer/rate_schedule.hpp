// The learning rate over the training.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace lacuna::train {

struct RateSchedule {
  enum class Kind {
    kConstant,
    kCosine,  // half a cosine from `rate` to zero
    kStep,    // a tenth at a half and again at three quarters of the training
  };
  Kind kind = Kind::kCosine;
  double rate = 0.05;
  std::int64_t warmup = 0;  // steps of linear growth of the rate from zero
  std::int64_t steps = 1;   // in the whole training

  double at(std::int64_t step) const {
    const double done = std::clamp(
        static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(steps, 1)), 0.0, 1.0);
    double now = rate;
    if (kind == Kind::kCosine) now = rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
    if (kind == Kind::kStep) now = rate * (done >= 0.75 ? 0.01 : done >= 0.5 ? 0.1 : 1);
    if (step < warmup) now *= static_cast<double>(step + 1) / static_cast<double>(warmup);
    return now;
  }
};
inline constexpr std::array kSchedules = {"constant", "cosine", "step"};

}  // namespace lacuna::train
