#include "train/layer.hpp"

#include <functional>
#include <numeric>

namespace lacuna::train {
namespace {
std::int64_t product(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}
}  // namespace

Parameter::Parameter(std::string name_, Kind kind_, std::vector<std::int64_t> dims_)
    : name(std::move(name_)), kind(kind_), dims(std::move(dims_)), value(product(dims)) {
  if (learnt()) grad = AlignedFloats(product(dims));
}

void GradientSum::end(Activation& input) {
  if (input.grad == nullptr) return;
  if (input.pending-- == input.readers) return;
  float* to = input.grad;
  const float* from = beside_.data();
  const std::int64_t floats = input.floats();
#pragma omp parallel for simd num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < floats; ++i) to[i] += from[i];
}

}  // namespace lacuna::train
