// The algorithm of SparseProp (Nikdan et al., ICML 2023), to compare our kernels for zero weights with:
// written from its description. Tensors have the batch innermost, [channel][row][column][image]. For each
// non-zero weight, one multiply-add over rows of the input into results that stay in memory; backward, the
// gradients of the inputs and of the non-zero weights in one pass.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/layer_shape.hpp"

namespace lacuna::sparseprop {

// Runs of pixels that one weight multiplies: `rows` of them, `pixels` each, of `batch` floats.
struct Runs {
  std::int64_t rows, pixels, batch;
  std::int64_t input_row, input_pixel;  // floats from a row to the next, from a pixel to the next
  std::int64_t result_row;
};

// One table per instruction set. `batch` is a multiple of 16.
struct Loops {
  const char* isa;
  // y += w * x
  void (*forward)(const Runs&, float w, const float* x, float* y);
  // dx += w * dy; returns the sum of x * dy
  float (*backward)(const Runs&, float w, const float* x, const float* dy, float* dx);
};
extern const Loops kAvx2;
extern const Loops kAvx512;

// Between plain tensors (NCHW) and the batch innermost, for a batch of 16: `rest` values per image. By 16 x
// 16 transposes in registers; needs AVX-512.
void to_innermost(const float* nchw, std::int64_t rest, float* innermost);
void from_innermost(const float* innermost, std::int64_t rest, float* nchw);

// Unit of results that is finished before the next begins. kPlanes: a result channel. kChunks: some rows of
// all channels, so that results stay in L1 and the inputs that they need in L2.
enum class Order { kPlanes, kChunks };

class SparseProp {
 public:
  // No groups; plain weights (OIHW). The batch is a multiple of 16.
  SparseProp(const LayerShape& shape, const float* oihw, const Loops& loops, Order order);

  std::int64_t input_floats() const { return shape_.c * shape_.input.h * shape_.input.w * shape_.n; }
  std::int64_t result_floats() const { return shape_.k * output_.h * output_.w * shape_.n; }

  void forward(const float* input, float* result) const;
  // `diff_weights`: OIHW, written at the places of the non-zero weights alone.
  void backward(const float* input, const float* diff_result, float* diff_input, float* diff_weights);

 private:
  struct Weight {
    std::int64_t place;  // among plain weights
    float value;
    std::int64_t input;                       // first float of its input, at result pixel (0, 0)
    std::int64_t row0, row1, column0, count;  // result pixels that meet an input
  };
  std::int64_t chunk_rows(std::int64_t tensors) const;
  Runs runs_of(const Weight& weight, std::int64_t first, std::int64_t end) const;
  std::int64_t input_at(const Weight& weight, std::int64_t row) const;
  std::int64_t result_at(const Weight& weight, std::int64_t channel, std::int64_t row) const;

  LayerShape shape_;
  Size2 output_;
  const Loops& loops_;
  Order order_;
  std::vector<std::vector<Weight>> weights_;  // of each result channel
};

}  // namespace lacuna::sparseprop
