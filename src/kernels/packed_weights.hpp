// Weights (or their gradients) in a plan's own order. A plan that may run sparse or dense keeps both packings
// in one buffer, and a header that says which of them hold the values: pack_weights() fills both, a weight
// gradient only the one that it was computed in.
#pragma once

#include <cstdint>

namespace lacuna::kernels {

class PackedWeights {
 public:
  enum class Holds : std::uint32_t { kNothing, kSparse, kDense, kBoth };

  PackedWeights() = default;
  // Floats of each packing; 0 for one that the plan does not have.
  PackedWeights(std::int64_t sparse_floats, std::int64_t dense_floats);

  std::int64_t floats() const;  // of the whole buffer

  float* sparse(float* buffer) const { return buffer + header(); }
  const float* sparse(const float* buffer) const { return buffer + header(); }
  float* dense(float* buffer) const { return buffer + header() + sparse_floats_; }
  const float* dense(const float* buffer) const { return buffer + header() + sparse_floats_; }

  // Without a header (one packing) there is nothing to mark, and that packing holds the values.
  void mark(float* buffer, Holds holds) const;
  Holds holds(const float* buffer) const;

 private:
  bool has_both() const { return sparse_floats_ > 0 && dense_floats_ > 0; }
  std::int64_t header() const;

  std::int64_t sparse_floats_ = 0;  // rounded up to whole vectors
  std::int64_t dense_floats_ = 0;
};

}  // namespace lacuna::kernels
