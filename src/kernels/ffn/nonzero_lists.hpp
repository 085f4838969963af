// The non-zeros of a matrix as lists, by its rows and by its columns, for products that skip its zeros.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ffn/tile_loops.hpp"

namespace lacuna::kernels {

inline std::int64_t panels_of(std::int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

// Rule for the elements of a matrix that are kept, and the values they get.
struct KeepRule {
  bool positive = false;  // what is greater than `threshold`, or NaN; else what is not zero
  float threshold = 0;
  bool squared = false;     // the lists have squares, and slopes twice the values
  bool by_columns = false;  // lists by columns as well
};

class NonzeroLists {
 public:
  // One pass over the matrix, tile by tile: a strip of 96 rows per item of work. Memory of earlier matrices
  // is reused.
  void build(const float* matrix, std::int64_t rows, std::int64_t columns, const KeepRule& rule, int threads,
             const TileLoops& loops);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  double share_of_zeros() const;

  // Quads of a tile, in order of its rows or of its columns. `second`: with the other set of values.
  TileQuads by_rows(std::int64_t strip, std::int64_t panel, bool second) const;
  TileQuads by_columns(std::int64_t strip, std::int64_t panel, bool second) const;

  // A second set of values of the same places, zero at first: `begin_second()`, then sums for the quads of
  // each tile by rows, then `end_second()` for each strip, which multiplies them by the slopes and copies
  // them to the lists by columns.
  void begin_second(int threads);
  float* second_values(std::int64_t strip, std::int64_t panel);
  void end_second(int threads);
  // sums[column] of the second values.
  void second_column_sums(float* sums, int threads) const;

 private:
  struct Quads {
    std::vector<float> values, second;
    std::vector<std::uint16_t> offsets, rows;
    std::vector<std::int64_t> begin;  // first quad of each tile, and the end
    std::int64_t end() const { return begin.back(); }
    void make_room(std::int64_t quads);
    TileQuads tile(std::int64_t panel, bool second_set) const;
  };
  struct Strip {
    Quads by_rows, by_columns;
    std::vector<float> slopes;
    std::vector<std::uint32_t> places;  // of the values of by_columns in those of by_rows
    std::int64_t kept = 0;
  };
  void build_strip(std::int64_t index, const float* matrix, const KeepRule& rule, const TileLoops& loops);
  void sort_by_columns(Strip& strip, std::int64_t panel) const;
  std::int64_t panel_columns(std::int64_t panel) const;

  std::int64_t rows_ = 0, columns_ = 0;
  bool has_slopes_ = false, has_columns_ = false;
  std::vector<Strip> strips_;
};

}  // namespace lacuna::kernels
