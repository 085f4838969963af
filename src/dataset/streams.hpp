// Random numbers addressed by their purpose instead of by what was drawn before: the stream of image 17, the
// order of epoch 3. This makes images and batches pure functions of the seed and a number.
#pragma once

#include <bit>
#include <cstdint>

#include "base/random.hpp"

namespace lacuna::dataset {

// Returns the seed of the stream (seed, purpose, number). Each step is a bijection of 64 bits, so two numbers
// of one purpose never share a stream.
inline std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t purpose, std::uint64_t number) {
  return Random(Random(Random(seed).bits() + purpose).bits() ^ number).bits();
}

// A permutation of 0 .. count-1 in constant memory: a Feistel network on the next even number of bits,
// walked until it lands inside (Black and Rogaway 2002, "cycle walking"; fewer than four steps on average).
class Permutation {
 public:
  Permutation(std::int64_t count, std::uint64_t seed)
      : count_(static_cast<std::uint64_t>(count)),
        half_bits_((std::bit_width(count_ > 1 ? count_ - 1 : 1) + 1) / 2),
        seed_(seed) {}

  std::int64_t operator()(std::int64_t place) const {
    auto at = static_cast<std::uint64_t>(place);
    do {
      at = network(at);
    } while (at >= count_);
    return static_cast<std::int64_t>(at);
  }

 private:
  std::uint64_t network(std::uint64_t at) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = at >> half_bits_;
    std::uint64_t right = at & mask;
    // Four rounds would do for large sets (Luby and Rackoff 1988); small ones need more to look random.
    for (std::uint64_t round = 0; round < 8; ++round) {
      const std::uint64_t mixed = left ^ (stream_seed(seed_, round, right) & mask);
      left = right;
      right = mixed;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t count_;
  int half_bits_;
  std::uint64_t seed_;
};

}  // namespace lacuna::dataset
