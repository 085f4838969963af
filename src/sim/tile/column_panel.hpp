// The arithmetic of a tile's columns, for functional engines: one operand's streams laid out so that a pair
// chosen for a row is multiplied in all columns at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/workload/operand_streams.hpp"

namespace lacuna {

// A pair that a lane multiplies: the row operand's value, and the line of the column operand's values.
struct RowValue {
  float value;
  std::int32_t line;  // step * lanes + lane
};

// The column operand for a block of columns: for each (step, lane) one line of kColumns values. 64 columns
// and 2,304 lines (3x3x256) are 576 KB: they stay in the second-level cache while rows pass over them.
class ColumnPanel {
 public:
  static constexpr std::int64_t kColumns = 64;

  ColumnPanel(const OperandStreams& streams, const TensorValues& values, std::int64_t first_column);
  // `fetch` in place of OperandStreams::values(), for values that come through a memory.
  using Fetch = std::function<std::uint64_t(std::int64_t stream, std::int64_t step, float* lanes_out)>;
  ColumnPanel(const OperandStreams& streams, const Fetch& fetch, std::int64_t first_column);

  std::int64_t first() const { return first_; }
  std::int64_t columns() const { return columns_; }  // that exist, of kColumns
  // How many columns are not zero in a line.
  std::int32_t effectual(std::int32_t line) const { return effectual_[static_cast<std::size_t>(line)]; }

  // The FP32 accumulators of one row's PEs: sums[c] = sum of value * line[c], in the order of the pairs.
  void multiply(std::span<const RowValue> row, float* sums) const;

  static std::int64_t bytes(const OperandStreams& streams) {
    return streams.steps() * streams.lanes * kColumns * 4;
  }

 private:
  std::int64_t first_;
  std::int64_t columns_;
  std::vector<float> values_;
  std::vector<std::int32_t> effectual_;
};

}  // namespace lacuna
