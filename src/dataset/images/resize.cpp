#include "dataset/images/resize.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna::dataset {

PlaneView PlaneView::centre_square() const {
  const int side = std::min(height, width);
  PlaneView square = *this;
  square.data += (height - side) / 2 * row_step + (width - side) / 2 * pixel_step;
  square.height = side;
  square.width = side;
  return square;
}

AxisFilter::AxisFilter(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double reach = std::max(scale, 1.0);
  for (int output = 0; output < to; ++output) {
    const double centre = (output + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(std::floor(centre - reach)));
    const int last = std::min(from, static_cast<int>(std::ceil(centre + reach)));
    windows_.push_back({first, last - first, static_cast<std::ptrdiff_t>(weights_.size())});
    const auto weight = [&](int i) { return std::max(0.0, 1 - std::abs(i + 0.5 - centre) / reach); };
    double sum = 0;
    for (int i = first; i < last; ++i) sum += weight(i);
    for (int i = first; i < last; ++i) weights_.push_back(static_cast<float>(weight(i) / sum));
  }
}

void resize(const PlaneView& from, const AxisFilter& rows, const AxisFilter& columns, float* to) {
  const int width = columns.outputs();
  // Along rows first; each row of the image is used by a few rows of the result.
  std::vector<float> narrowed(static_cast<std::size_t>(from.height) * static_cast<std::size_t>(width));
  for (int y = 0; y < from.height; ++y) {
    const std::uint8_t* row = from.data + y * from.row_step;
    float* out = narrowed.data() + static_cast<std::ptrdiff_t>(y) * width;
    for (int x = 0; x < width; ++x) {
      const float* weights = columns.weights(x);
      const std::uint8_t* pixel = row + columns.first(x) * from.pixel_step;
      float sum = 0;
      for (int i = 0; i < columns.count(x); ++i, pixel += from.pixel_step) {
        sum += weights[i] * static_cast<float>(*pixel);
      }
      out[x] = sum;
    }
  }
  for (int y = 0; y < rows.outputs(); ++y) {
    float* out = to + static_cast<std::ptrdiff_t>(y) * width;
    std::fill(out, out + width, 0.0F);
    for (int i = 0; i < rows.count(y); ++i) {
      const float weight = rows.weights(y)[i];
      const float* row = narrowed.data() + static_cast<std::ptrdiff_t>(rows.first(y) + i) * width;
      for (int x = 0; x < width; ++x) out[x] += weight * row[x];
    }
  }
}

}  // namespace lacuna::dataset
