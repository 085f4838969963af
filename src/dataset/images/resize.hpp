// Scales images of any size to one size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lacuna::dataset {

// One channel of an image, wherever its bytes lie.
struct PlaneView {
  const std::uint8_t* data = nullptr;
  int height = 0;
  int width = 0;
  std::ptrdiff_t row_step = 0;    // bytes from a row to the next
  std::ptrdiff_t pixel_step = 1;  // bytes from a pixel to the next

  // Returns the largest square in the middle.
  PlaneView centre_square() const;
};

// Resampling of `from` pixels along an axis to `to` pixels: each is a weighted mean of its neighbours. The
// weights are a triangle as wide as two pixels of the coarser of the two grids: bilinear interpolation when
// enlarging, a mean over all covered pixels when reducing, so that nothing aliases.
class AxisFilter {
 public:
  AxisFilter(int from, int to);

  int outputs() const { return static_cast<int>(windows_.size()); }
  int first(int output) const { return windows_[static_cast<std::size_t>(output)].first; }
  int count(int output) const { return windows_[static_cast<std::size_t>(output)].count; }
  const float* weights(int output) const {
    return weights_.data() + windows_[static_cast<std::size_t>(output)].offset;
  }

 private:
  struct Window {
    int first;
    int count;
    std::ptrdiff_t offset;
  };
  std::vector<Window> windows_;
  std::vector<float> weights_;
};

// Writes rows.outputs() x columns.outputs() values from 0 to 255.
void resize(const PlaneView& from, const AxisFilter& rows, const AxisFilter& columns, float* to);

}  // namespace lacuna::dataset
