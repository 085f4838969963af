// The learning rate over the training.
#pragma once

#include <array>
#include <cstdint>

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

  double at(std::int64_t step) const;
};
inline constexpr std::array kSchedules = {"constant", "cosine", "step"};

}  // namespace lacuna::train
