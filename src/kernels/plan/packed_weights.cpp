#include "kernels/plan/packed_weights.hpp"

#include <cstring>

#include "kernels/layout/blocked.hpp"

namespace lacuna::kernels {

std::size_t PackedWeights::add(std::int64_t floats) {
  offsets_.push_back(round_up(end_, kLanes));
  end_ = offsets_.back() + floats;
  return offsets_.size() - 1;
}

// One vector, so that packings stay aligned.
std::int64_t PackedWeights::header() const { return offsets_.size() > 1 ? kLanes : 0; }

void PackedWeights::mark(float* buffer, std::size_t packing) const {
  const auto number = static_cast<std::uint32_t>(packing + 1);
  if (header() > 0) std::memcpy(buffer, &number, sizeof number);
}

std::size_t PackedWeights::marked(const float* buffer) const {
  if (header() == 0) return 0;
  std::uint32_t number = 0;
  std::memcpy(&number, buffer, sizeof number);
  // Memory that no plan has written may hold any bits.
  return number >= 1 && number <= offsets_.size() ? number - 1 : kNone;
}

}  // namespace lacuna::kernels
