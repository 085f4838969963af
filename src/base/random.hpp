// Random numbers whose sequence is part of our results: the same seed gives the same trace, layer and values
// on every machine and compiler, which <random>'s distributions do not promise.
#pragma once

#include <cstdint>

namespace lacuna {

// SplitMix64 (Steele, Lea, Flood 2014): one 64-bit state, passes BigCrush, and any seed is a good seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  // Uniform in [low, high], both included. The bias of the multiply-shift is below 2^-32 for the ranges we
  // draw.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(((bits() >> 32) * span) >> 32);
  }

  bool chance(double probability) { return uniform() < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace lacuna
