// Products of a matrix as lists of non-zeros and a dense matrix that is packed in panels.
#pragma once

#include <cstdint>

#include "kernels/ffn/nonzero_lists.hpp"

namespace lacuna::kernels {

// A dense matrix, rows x columns, in panels: [chunk of 64 columns][panel of 96 rows][row][column].
class PackedPanels {
 public:
  // In memory of floats(rows, columns), aligned to 64 bytes.
  PackedPanels(float* memory, std::int64_t rows, std::int64_t columns)
      : data_(memory), rows_(rows), columns_(columns) {}
  static std::int64_t floats(std::int64_t rows, std::int64_t columns) {
    return (columns + kPanelColumns - 1) / kPanelColumns * panels_of(rows) * kPanelFloats;
  }
  // Fills them. `transposed`: `matrix` is columns x rows.
  void pack(const float* matrix, bool transposed, int threads, Isa isa);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t chunks() const { return (columns_ + kPanelColumns - 1) / kPanelColumns; }
  const float* at(std::int64_t chunk, std::int64_t panel) const {
    return data_ + (chunk * panels_of(rows_) + panel) * kPanelFloats;
  }

 private:
  float* data_;
  std::int64_t rows_, columns_;
};

// The sparse factor of a product: the matrix of lists, or its transpose, with its first or second values.
struct SparseFactor {
  const NonzeroLists& lists;
  bool transposed = false;
  bool second = false;

  std::int64_t rows() const { return transposed ? lists.columns() : lists.rows(); }
  TileQuads tile(std::int64_t strip, std::int64_t panel) const {
    return transposed ? lists.by_columns(panel, strip, second) : lists.by_rows(strip, panel, second);
  }
};

struct SumResult {
  float* data;
  bool transposed = false;      // columns x rows
  const float* bias = nullptr;  // of each column
  bool relu = false;
};

// result = factor * dense, skipping the zeros of the factor. Sums are in order of the panels whatever the
// number of threads.
void gather_sum(const SparseFactor& factor, const PackedPanels& dense, const SumResult& result, int threads,
                Isa isa);

// The second values of `lists`: at each place (r, c) the product of row r of `rows` and row c of `columns`.
void sampled_dots(NonzeroLists& lists, const PackedPanels& rows, const PackedPanels& columns, int threads,
                  Isa isa);

}  // namespace lacuna::kernels
