// SparseTrain's own algorithm, as its authors describe it [SparseTrain; docs/models/sparsetrain.md]: the
// baseline for the kernels of kernels/sparse. Zeros are found by a vector compare in the dense tensor, 16
// values at a time, and a loop over the set bits of the mask does the rest; nothing is written down in
// between.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/sparse/sparse_conv.hpp"
#include "kernels/sparsetrain/row_kernels.hpp"

namespace lacuna::kernels {

// Why it cannot do this convolution ("has no kernel of width 7", ...); empty: it can.
std::string sparsetrain_refusal(const LayerShape& shape, Isa isa);

namespace sparsetrain {

// Pairing of the rows of the checked and the other tensor, by operation and checked operand.
struct Mapping {
  explicit Mapping(const KernelConfig& config);

  bool gather;  // checked is src: v * stride = u + padding - s
  RowKind kind;
  bool turned;  // a scatter of stride 1, done as a gather by a kernel turned around
  Size2 kernel, stride, padding;
  std::int64_t padding_w;  // of the row kernel
  bool joined;             // rows follow one another without a gap: taken as one

  // The checked row that meets row `v` of the other tensor in kernel row r; -1: none.
  std::int64_t checked_row(std::int64_t v, std::int64_t r, std::int64_t checked_rows) const;
  // kPixel: pairs of columns that meet, as columns of the strided (larger) and of the other side.
  Range pixel_columns(const LayerShape& shape) const;
};

// Channel blocks of the other tensor in parts of 8, 4, 2 or 1 vectors.
std::vector<Part> vector_parts(std::int64_t blocks, RowKind kind);
int choice_of(std::int64_t vectors);  // index into RowKernels

std::unique_ptr<ConvKernel> make_sweep_conv(const KernelConfig& config);
std::unique_ptr<ConvKernel> make_weight_grad(const KernelConfig& config);

}  // namespace sparsetrain
}  // namespace lacuna::kernels
