// The non-zero weights of a convolution, in the order in which a kernel that skips the others uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/pruned/geometry.hpp"
#include "kernels/pruned/kernels.hpp"

namespace lacuna::kernels {

// The weights of one group of channels and one phase, in blocks of input channels x result channels: a part
// of the inputs is transposed and stays in L1 while all result channels use it. The rows of a block are
// ordered by their number of non-zeros, so that the ends of the loops over them are predicted.
struct WeightBlocks {
  struct Block {
    std::uint32_t first_entry, first_row, rows;
  };
  std::vector<WeightEntry> entries;
  std::vector<std::uint32_t> from;  // of each entry: where its value is among plain weights
  std::vector<WeightRow> rows;
  std::vector<Block> blocks;  // [input part][result part]
};

class WeightLists {
 public:
  // ohwi: plain weights are [out][kh][kw][in], otherwise [out][in][kh][kw].
  WeightLists(const LayerShape& shape, Operation op, bool ohwi, const PrunedGeometry& geometry,
              const PrunedKernels& kernels, std::int64_t l1_bytes, int threads);

  // Takes plain weights. Where the zeros are at the same places as before only values are replaced; returns
  // whether they were.
  bool update(const float* plain);
  // Without looking whether they are where they were before.
  void replace_values(const float* plain);

  std::int64_t nonzeros() const { return nonzeros_; }        // -1 before the first update
  std::int64_t result_part() const { return result_part_; }  // channels
  std::int64_t input_part() const { return input_part_; }    // channels, whole vectors
  std::int64_t result_parts() const { return (result_channels_ + result_part_ - 1) / result_part_; }
  std::int64_t input_parts() const { return (input_channels_ + input_part_ - 1) / input_part_; }
  const WeightBlocks::Block& block(const WeightBlocks& list, std::int64_t input, std::int64_t result) const {
    return list.blocks[static_cast<std::size_t>(input * result_parts() + result)];
  }
  const WeightBlocks& of(std::int64_t group, std::int64_t phase) const {
    return lists_[static_cast<std::size_t>(group * phases_ + phase)];
  }
  std::vector<WeightBlocks>& all() { return lists_; }
  const std::vector<WeightBlocks>& all() const { return lists_; }

 private:
  // The non-zeros of some rows of the plain weights (a row: all weights of an output channel), and how many
  // of them each row of the lists has. One per thread; memory is kept.
  struct Scan {
    std::int64_t first_row, end_row;
    std::int64_t found;
    std::vector<std::uint32_t> places;  // in their rows
    std::vector<std::uint32_t> ends;    // of each row: in `places`
    std::vector<std::uint32_t>
        counts;  // [group][phase][input part][result channel]; then where the next goes
  };
  // Target of the weights at a place of a row: list, row of the lists and offset, without what the row adds.
  struct Target {
    std::uint32_t list, row, offset;
  };
  bool refresh(const float* plain);
  void rebuild(const float* plain);
  void choose_parts();
  void find_targets();
  void scan_rows(const float* plain, Scan& scan) const;
  void lay_out(std::int64_t list);
  // f(list, place among plain weights, row of all lists, offset) for each non-zero.
  template <class F>
  void each_nonzero(const Scan& scan, const F& f) const;
  std::int64_t list_rows() const { return input_parts() * result_channels_; }  // of a list, if none is empty

  LayerShape shape_;
  bool forward_, ohwi_;
  const PrunedGeometry* geometry_;
  const PrunedKernels* kernels_;
  std::int64_t l1_bytes_;
  int threads_;
  std::int64_t phases_;
  std::int64_t input_channels_, result_channels_;  // per group; of the result rounded up to whole vectors
  std::int64_t result_part_ = kLanes, input_part_ = kLanes;
  std::int64_t nonzeros_ = -1;
  std::vector<WeightBlocks> lists_;
  std::vector<Scan> scans_;
  std::vector<Target> targets_;  // of each place in a row
};

}  // namespace lacuna::kernels
