// Compressed planes: what the buffers of an outer-product machine hold.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sim/outer_product/index_map.hpp"
#include "sim/workload/layer_values.hpp"

namespace lacuna::outer_product {

// The non-zeros of one 2-D plane in CSR order (rows, then columns). `row` repeats what `ptr` says, for those
// who visit elements; it may be left out. `value` is empty in the fast engine. `col` may be left out where
// only the numbers of non-zeros of rows matter (matrix multiplication, whose column range is free). Kernels
// that are packed into the same vectors lie one below the other in one plane.
struct CsrPlane {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::uint32_t> ptr;  // rows + 1
  std::vector<std::uint32_t> row;
  std::vector<std::uint32_t> col;
  std::vector<float> value;
  bool keep_rows = true;

  std::int64_t nonzeros() const { return ptr.empty() ? 0 : ptr.back(); }

  // Fill in CSR order: start, then for each row its elements and end_row.
  void start(std::int64_t row_count, std::int64_t column_count, bool with_rows = true) {
    rows = row_count;
    cols = column_count;
    keep_rows = with_rows;
    ptr.assign(1, 0);
    row.clear();
    col.clear();
    value.clear();
  }
  void add(std::int64_t s) {
    if (keep_rows) row.push_back(static_cast<std::uint32_t>(ptr.size() - 1));
    col.push_back(static_cast<std::uint32_t>(s));
  }
  void add(std::int64_t s, float v) {
    add(s);
    value.push_back(v);
  }
  void end_row() { ptr.push_back(static_cast<std::uint32_t>(col.size())); }

  // Packs another kernel below, without values.
  void append(const CsrPlane& below) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(below.rows); ++r) {
      for (std::uint32_t i = below.ptr[r]; i < below.ptr[r + 1]; ++i) add(below.col[i]);
      end_row();
    }
    rows += below.rows;
  }
  // Kernels of `kernel_rows` rows that have a non-zero.
  std::int64_t kernels(std::int64_t kernel_rows) const {
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < rows; r += kernel_rows)
      count += ptr[static_cast<std::size_t>(r + kernel_rows)] > ptr[static_cast<std::size_t>(r)] ? 1 : 0;
    return count;
  }

  // Bit r*cols + s set: a non-zero at (r, s). At most 64 positions.
  void assign_mask(std::uint64_t mask, std::int64_t row_count, std::int64_t column_count) {
    start(row_count, column_count);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t s = 0; s < cols; ++s, mask >>= 1) {
        if ((mask & 1) != 0) add(s);
      }
      end_row();
    }
  }
};

// Start of each column in a kernel's CSR order: at(r, x) is the number of non-zeros before (r, x). The
// in-range non-zeros of row r are then the CSR positions at(r, s0) .. at(r, s1 + 1) - 1.
class ColumnStarts {
 public:
  void build(const CsrPlane& kernel) {
    width_ = static_cast<std::size_t>(kernel.cols) + 1;
    starts_.resize(static_cast<std::size_t>(kernel.rows) * width_);
    std::uint32_t* out = starts_.data();
    for (std::size_t r = 0; r < static_cast<std::size_t>(kernel.rows); ++r) {
      std::uint32_t position = kernel.ptr[r];
      std::uint32_t x = 0;
      for (; position < kernel.ptr[r + 1]; ++position) {
        while (x <= kernel.col[position]) out[x++] = position;
      }
      while (x < width_) out[x++] = position;
      out += width_;
    }
  }
  const std::uint32_t* row(std::int64_t r) const {
    return starts_.data() + static_cast<std::size_t>(r) * width_;
  }
  std::size_t columns() const { return width_ - 1; }

 private:
  std::size_t width_ = 1;
  std::vector<std::uint32_t> starts_;
};

struct Position {
  std::uint32_t y = 0;
  std::uint32_t x = 0;
};

// Target of a pair's results: output (y, x) of the i-th of packed kernels is base[y * y_stride + x * x_stride
// + i * kernel_stride].
struct OutputPlane {
  float* base = nullptr;
  std::int64_t y_stride = 0;
  std::int64_t x_stride = 0;
  std::int64_t kernel_stride = 0;
  // Where only needed outputs count: values in the layout of `base`, needed where they are not 0.
  const float* needed_where = nullptr;

  bool needs(IndexMap::Output at, std::int64_t kernel = 0) const {
    return needed_where == nullptr ||
           is_nonzero(needed_where[at.y * y_stride + at.x * x_stride + kernel * kernel_stride]);
  }
  void add(IndexMap::Output at, float product, std::int64_t kernel = 0) const {
    base[at.y * y_stride + at.x * x_stride + kernel * kernel_stride] += product;
  }
};

// Useful products of one step by accumulator bank [SCNN §4]. ASSUMPTION(O6): output (y, x) of a pair lives in
// bank (y * width + x) mod banks, that of the i-th of packed kernels i banks further; a step takes as many
// cycles as the busiest bank has products, at least one.
class BankTally {
 public:
  BankTally(std::int64_t banks, const IndexMap& map)
      : width_(map.outputs().w), counts_(static_cast<std::size_t>(banks), 0) {}

  void add(IndexMap::Output at, std::int64_t kernel = 0) {
    const std::size_t bank = static_cast<std::size_t>(at.y * width_ + at.x + kernel) % counts_.size();
    if (counts_[bank]++ == 0) touched_.push_back(bank);
    if (counts_[bank] > most_) most_ = counts_[bank];
  }
  // Cycles beyond the first; forgets the step.
  std::int64_t finish_step() {
    for (const std::size_t bank : touched_) counts_[bank] = 0;
    touched_.clear();
    const std::int64_t stall = most_ > 1 ? most_ - 1 : 0;
    most_ = 0;
    return stall;
  }

 private:
  std::int64_t width_;
  std::vector<std::int64_t> counts_;
  std::vector<std::size_t> touched_;
  std::int64_t most_ = 0;
};

// Calls visit(c - first) for each set bit c in [first, end) of a row of a MaskView. Reads no byte past the
// one that holds bit end - 1.
template <typename Visit>
void for_each_bit(const std::uint8_t* row, std::int64_t first, std::int64_t end, const Visit& visit) {
  const std::int64_t end_byte = (end + 7) / 8;
  for (std::int64_t byte = first / 8; byte < end_byte; byte += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, row + byte, static_cast<std::size_t>(std::min<std::int64_t>(8, end_byte - byte)));
    const std::int64_t base = byte * 8;
    if (base < first) word &= ~std::uint64_t{0} << (first - base);
    if (end - base < 64) word &= (std::uint64_t{1} << (end - base)) - 1;
    for (; word != 0; word &= word - 1) visit(base + std::countr_zero(word) - first);
  }
}

}  // namespace lacuna::outer_product
