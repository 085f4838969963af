// Values on their way from on-chip memory to the tiles [TensorDash §3.4]: a tensor lies in groups of 16 x 16;
// what runs along the channels is read block by block, everything else goes through a transposer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/workload/layer_values.hpp"
#include "sim/workload/operand_streams.hpp"
#include "tensor/group_layout.hpp"

namespace lacuna::tensordash {

// One tensor of a layer in AM or BM.
class GroupedTensor {
 public:
  GroupedTensor(const LayerShape& shape, Operand role, const TensorValues& values, std::int64_t side);

  std::int64_t side() const { return layout_.side; }
  // The `side` channels of block `block` at a row of the tensor's mask.
  const float* block(std::int64_t row, std::int64_t block) const;

 private:
  GroupLayout::Place place(std::int64_t row) const;

  GroupLayout layout_;
  std::int64_t positions_;  // of a plane, or taps of a filter
  bool by_image_;           // neighbours in a group are filters (or samples of a linear layer), not columns
  std::vector<float> memory_;
};

// Takes up lines and gives back columns. While one buffer is emptied the other is filled.
class Transposer {
 public:
  explicit Transposer(std::int64_t side)
      : side_(side), filling_(static_cast<std::size_t>(side * side)), full_(filling_.size()) {}

  // Null: a position outside the tensor.
  void fill(std::int64_t line, const float* block);
  void turn() { std::swap(filling_, full_); }
  void read(std::int64_t column, float* out) const;

 private:
  std::int64_t side_;
  std::vector<float> filling_, full_;
};

// The streams of one operand of a product.
class OperandFetch {
 public:
  OperandFetch(const OperandStreams& streams, const GroupedTensor& memory);

  // As OperandStreams::values().
  std::uint64_t values(std::int64_t stream, std::int64_t step, float* lanes_out);
  // Times that a transposer was filled to see every stream once.
  std::int64_t transposed_groups() const { return transposed_groups_; }

 private:
  void read_blocks(std::int64_t stream, std::int64_t step, float* lanes_out) const;
  void transpose(std::int64_t stream);
  std::int64_t bundle_of(std::int64_t stream) const;

  const OperandStreams& streams_;
  const GroupedTensor& memory_;
  std::int64_t steps_;
  std::int64_t channel_blocks_;  // that the operand's channels touch
  Transposer transposer_;
  // Streams of one tap whose channels lie in one block leave the transposer together.
  std::int64_t bundle_ = -1;
  std::vector<float> columns_;  // [channel of the block][step][lane]
  std::vector<bool> seen_;      // by bundle
  std::int64_t transposed_groups_ = 0;
};

}  // namespace lacuna::tensordash
