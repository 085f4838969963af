// Weights (or their gradients) in a plan's own order. A plan of several kernels keeps the packing of each in
// one buffer, behind a header that says which of them has the values: pack_weights() fills all, a weight
// gradient only the one that it was computed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

class PackedWeights {
 public:
  // Adds the packing of a kernel and returns its number.
  std::size_t add(std::int64_t floats) {
    offsets_.push_back((end_ + kLanes - 1) / kLanes * kLanes);
    end_ = offsets_.back() + floats;
    return offsets_.size() - 1;
  }

  std::int64_t floats() const { return header() + end_; }  // of the whole buffer
  float* at(float* buffer, std::size_t packing) const { return buffer + header() + offsets_[packing]; }
  const float* at(const float* buffer, std::size_t packing) const {
    return buffer + header() + offsets_[packing];
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // The packing that holds the values. A single one needs no mark.
  void mark(float* buffer, std::size_t packing) const {
    const auto number = static_cast<std::uint32_t>(packing + 1);
    if (header() > 0) std::memcpy(buffer, &number, sizeof number);
  }
  std::size_t marked(const float* buffer) const {
    if (header() == 0) return 0;
    std::uint32_t number = 0;
    std::memcpy(&number, buffer, sizeof number);
    // Memory that no plan has written may hold any bits.
    return number >= 1 && number <= offsets_.size() ? number - 1 : kNone;
  }

 private:
  // One vector, so that packings stay aligned.
  std::int64_t header() const { return offsets_.size() > 1 ? kLanes : 0; }

  std::vector<std::int64_t> offsets_;  // behind the header, in whole vectors
  std::int64_t end_ = 0;
};

}  // namespace lacuna::kernels
