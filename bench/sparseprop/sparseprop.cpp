#include "sparseprop/sparseprop.hpp"

#include <algorithm>

namespace lacuna::sparseprop {
namespace {

constexpr std::int64_t kResultBytes = 16 * 1024;   // of a chunk of one channel, in L1
constexpr std::int64_t kInputBytes = 1024 * 1024;  // of a chunk of all channels, in L2

// Result pixels p with 0 <= p * stride + offset < size.
struct Range {
  Range(std::int64_t results, std::int64_t size, std::int64_t stride, std::int64_t offset)
      : begin(offset >= 0 ? 0 : (stride - 1 - offset) / stride),
        end(size <= offset ? 0 : std::min(results, (size - offset + stride - 1) / stride)) {
    end = std::max(begin, end);
  }
  std::int64_t begin, end;
};

}  // namespace

SparseProp::SparseProp(const LayerShape& shape, const float* oihw, const Loops& loops, Order order)
    : shape_(shape), output_(shape.output), loops_(loops), order_(order) {
  // Without neighbours and steps an image is as good as a column of pixels, which chunks can split anywhere.
  if (shape.taps() == 1 && shape.stride == Size2{1, 1} && shape.padding == Size2{0, 0}) {
    shape_.input = {shape.input.h * shape.input.w, 1};
    output_ = shape_.input;
  }
  weights_.resize(static_cast<std::size_t>(shape.k));
  for (std::int64_t k = 0; k < shape.k; ++k)
    for (std::int64_t c = 0; c < shape.c; ++c)
      for (std::int64_t r = 0; r < shape.kernel.h; ++r)
        for (std::int64_t s = 0; s < shape.kernel.w; ++s) {
          const std::int64_t place = ((k * shape.c + c) * shape.kernel.h + r) * shape.kernel.w + s;
          if (oihw[place] == 0.0F) continue;
          const std::int64_t y = r * shape.dilation.h - shape.padding.h;
          const std::int64_t x = s * shape.dilation.w - shape.padding.w;
          const Range rows(output_.h, shape_.input.h, shape.stride.h, y);
          const Range columns(output_.w, shape_.input.w, shape.stride.w, x);
          weights_[static_cast<std::size_t>(k)].push_back(
              {place, oihw[place], ((c * shape_.input.h + y) * shape_.input.w + x) * shape.n, rows.begin,
               rows.end, columns.begin, columns.end - columns.begin});
        }
}

std::int64_t SparseProp::chunk_rows(std::int64_t tensors) const {
  if (order_ == Order::kPlanes) return output_.h;
  const std::int64_t result_row = output_.w * shape_.n * std::int64_t{sizeof(float)};
  const std::int64_t input_row =
      tensors * shape_.c * shape_.stride.h * shape_.input.w * shape_.n * std::int64_t{sizeof(float)};
  return std::clamp<std::int64_t>(std::min(kResultBytes / result_row, kInputBytes / input_row), 1, output_.h);
}

Runs SparseProp::runs_of(const Weight& weight, std::int64_t first, std::int64_t end) const {
  Runs runs{std::min(end, weight.row1) - std::max(first, weight.row0),
            weight.count,
            shape_.n,
            shape_.stride.h * shape_.input.w * shape_.n,
            shape_.stride.w * shape_.n,
            output_.w * shape_.n};
  // Whole rows that follow one another are one.
  const std::int64_t run = runs.pixels * runs.batch;
  if (runs.rows > 1 && shape_.stride.w == 1 && runs.input_row == run && runs.result_row == run) {
    runs.pixels *= runs.rows;
    runs.rows = 1;
  }
  return runs;
}

std::int64_t SparseProp::input_at(const Weight& weight, std::int64_t row) const {
  return weight.input +
         (row * shape_.stride.h * shape_.input.w + weight.column0 * shape_.stride.w) * shape_.n;
}

std::int64_t SparseProp::result_at(const Weight& weight, std::int64_t channel, std::int64_t row) const {
  return ((channel * output_.h + row) * output_.w + weight.column0) * shape_.n;
}

void SparseProp::forward(const float* input, float* result) const {
  const std::int64_t step = chunk_rows(1);
  const std::int64_t row_floats = output_.w * shape_.n;
  for (std::int64_t first = 0; first < output_.h; first += step) {
    const std::int64_t end = std::min(output_.h, first + step);
    for (std::int64_t k = 0; k < shape_.k; ++k) {
      float* plane = result + k * output_.h * row_floats;
      std::fill(plane + first * row_floats, plane + end * row_floats, 0.0F);
      for (const Weight& weight : weights_[static_cast<std::size_t>(k)]) {
        const Runs runs = runs_of(weight, first, end);
        const std::int64_t row = std::max(first, weight.row0);
        if (runs.rows > 0 && runs.pixels > 0)
          loops_.forward(runs, weight.value, input + input_at(weight, row),
                         result + result_at(weight, k, row));
      }
    }
  }
}

void SparseProp::backward(const float* input, const float* diff_result, float* diff_input,
                          float* diff_weights) {
  const std::int64_t step = chunk_rows(2);
  std::fill(diff_input, diff_input + input_floats(), 0.0F);
  for (const std::vector<Weight>& channel : weights_)
    for (const Weight& weight : channel) diff_weights[weight.place] = 0.0F;
  for (std::int64_t first = 0; first < output_.h; first += step) {
    const std::int64_t end = std::min(output_.h, first + step);
    for (std::int64_t k = 0; k < shape_.k; ++k)
      for (const Weight& weight : weights_[static_cast<std::size_t>(k)]) {
        const Runs runs = runs_of(weight, first, end);
        const std::int64_t row = std::max(first, weight.row0);
        if (runs.rows <= 0 || runs.pixels <= 0) continue;
        const std::int64_t at = input_at(weight, row);
        diff_weights[weight.place] += loops_.backward(
            runs, weight.value, input + at, diff_result + result_at(weight, k, row), diff_input + at);
      }
  }
}

}  // namespace lacuna::sparseprop
