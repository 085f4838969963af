#include "kernels/packed_weights.hpp"

#include <cstring>

#include "kernels/sparse/microkernels.hpp"
#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

PackedWeights::PackedWeights(std::int64_t sparse_floats, std::int64_t dense_floats)
    : sparse_floats_(round_up(sparse_floats, kLanes)), dense_floats_(dense_floats) {}

// One vector, so that both packings stay aligned.
std::int64_t PackedWeights::header() const { return has_both() ? kLanes : 0; }

std::int64_t PackedWeights::floats() const { return header() + sparse_floats_ + dense_floats_; }

void PackedWeights::mark(float* buffer, Holds holds) const {
  if (has_both()) std::memcpy(buffer, &holds, sizeof holds);
}

PackedWeights::Holds PackedWeights::holds(const float* buffer) const {
  if (!has_both()) return sparse_floats_ > 0 ? Holds::kSparse : Holds::kDense;
  std::uint32_t mark = 0;
  std::memcpy(&mark, buffer, sizeof mark);
  // Memory that no plan has written may hold any bits.
  return mark <= static_cast<std::uint32_t>(Holds::kBoth) ? Holds{mark} : Holds::kNothing;
}

}  // namespace lacuna::kernels
