#include <algorithm>
#include <cmath>
#include <functional>

#include "models/structured-2of4/engine.hpp"

namespace lacuna::structured_2of4 {
namespace {

// Sets to zero what goes beyond the two largest of up to four values.
void prune_group(const std::vector<float*>& group) {
  std::vector<float*> by_size = group;
  std::ranges::stable_sort(by_size, std::greater{}, [](const float* value) { return std::fabs(*value); });
  for (std::size_t i = kKept; i < by_size.size(); ++i) *by_size[i] = 0;
}

// `count` values, each `pitch` after the one before.
void prune_line(float* first, std::int64_t count, std::int64_t pitch) {
  for (std::int64_t i = 0; i < count; i += kGroup) {
    std::vector<float*> group;
    for (std::int64_t j = i; j < std::min<std::int64_t>(i + kGroup, count); ++j)
      group.push_back(first + j * pitch);
    prune_group(group);
  }
}

}  // namespace

TensorValues prune(const TensorValues& values, Operand role, const LayerShape& shape, Operation op) {
  TensorValues pruned = values;
  float* data = pruned.data.data();
  const std::int64_t channels = values.channels;
  const auto rows = static_cast<std::int64_t>(values.data.size()) / channels;
  if (op == Operation::kWeightGrad) {
    // Positions of an image (G), or rows of a matrix.
    const std::int64_t length = shape.is_matrix() ? shape.n : shape.output_positions();
    for (std::int64_t row = 0; row < rows; row += length) {
      for (std::int64_t c = 0; c < channels; ++c) prune_line(data + row * channels + c, length, channels);
    }
    return pruned;
  }
  if (op == Operation::kInputGrad && role == Operand::kW) {
    // Filters of a convolution group, at one tap and channel.
    const std::int64_t filter = shape.taps() * channels;
    for (std::int64_t group = 0; group < shape.groups; ++group) {
      for (std::int64_t i = 0; i < filter; ++i)
        prune_line(data + group * shape.k_per_group() * filter + i, shape.k_per_group(), filter);
    }
    return pruned;
  }
  // Channels of a convolution group; rows of W hold those of one.
  const std::int64_t length = role == Operand::kW   ? channels
                              : role == Operand::kA ? shape.c_per_group()
                                                    : shape.k_per_group();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t first = 0; first < channels; first += length)
      prune_line(data + row * channels + first, length, 1);
  }
  return pruned;
}

}  // namespace lacuna::structured_2of4
