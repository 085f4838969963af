// Results of the input gradient that training uses. Where A comes out of a ReLU, the next step backward
// multiplies the gradient of A by the derivative of the ReLU, which is 0 wherever A is 0: those results need
// not be computed. ASSUMPTION(U1): every zero of a recorded A is such a zero.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/params.hpp"
#include "sim/workload/layer_values.hpp"
#include "sim/workload/mac_counts.hpp"
#include "sim/workload/operand_streams.hpp"

namespace lacuna {

// The parameter `outputs` of a machine; `use` says what it leaves out for outputs=needed.
ParamSpec outputs_param(const std::string& use);
// Whether `params` asks for needed outputs alone; false for machines without the parameter.
bool needed_outputs_only(const Params& params);
// Whether some results of `op` are not needed.
inline bool has_unneeded_outputs(const Layer& layer, Operation op) {
  return op == Operation::kInputGrad && layer.a.zeros() > 0;
}

// The non-zeros of values as a mask, for engines that go by values.
class ValueMask {
 public:
  explicit ValueMask(const TensorValues& values);
  const MaskView& view() const { return view_; }

 private:
  std::vector<std::uint8_t> bytes_;
  MaskView view_;
};

// Which outputs of a product of an input gradient are needed: bit c of row r for stream r of one operand and
// stream c of the other.
class NeededOutputs {
 public:
  // `a` is the mask of A, as recorded or of values; `rows` one of the operands of `product`.
  NeededOutputs(const LayerShape& shape, const LaneProduct& product, const OperandStreams& rows,
                const MaskView& a);

  std::int64_t count() const;
  std::int64_t count(std::int64_t row) const;
  bool needed(std::int64_t row, std::int64_t column) const {
    return ((words(row)[static_cast<std::size_t>(column / 64)] >> (column % 64)) & 1) != 0;
  }
  std::span<const std::uint64_t> words(std::int64_t row) const {
    return {bits_.data() + row * row_words_, static_cast<std::size_t>(row_words_)};
  }
  // Column streams that any of `count` rows from `first` on needs.
  std::vector<bool> any_of(std::int64_t first, std::int64_t count) const;

 private:
  std::int64_t rows_, columns_, row_words_;
  std::vector<std::uint64_t> bits_;
};

// The MACs of an input gradient whose result is needed; `macs` stays that of the dense convolution. Other
// operations and layers without a zero in A need `all`.
MacCounts count_needed_macs(const Layer& layer, Operation op, const MacCounts& all);

}  // namespace lacuna
