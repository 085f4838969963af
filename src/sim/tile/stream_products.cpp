#include "sim/tile/stream_products.hpp"

namespace lacuna {

MultipliedPairs multiply_streams(const LaneProduct& product, const OperandStreams& selecting,
                                 const LayerShape& shape, Operation op, const LayerValues& values,
                                 const SelectPairs& select, std::vector<float>& result) {
  const bool primary = &selecting == &product.primary;
  const OperandStreams& other = primary ? product.secondary : product.primary;
  MultipliedPairs counts;
  std::vector<RowValue> pairs;
  float sums[ColumnPanel::kColumns];
  for (std::int64_t first = 0; first < other.count(); first += ColumnPanel::kColumns) {
    const ColumnPanel panel(other, values.of(other.role), first);
    for (std::int64_t stream = 0; stream < selecting.count(); ++stream) {
      pairs.clear();
      select(stream, pairs);
      panel.multiply(pairs, sums);
      for (std::int64_t c = 0; c < panel.columns(); ++c) {
        const std::int64_t at = primary ? product.output_index(shape, op, stream, first + c)
                                        : product.output_index(shape, op, first + c, stream);
        result[static_cast<std::size_t>(at)] += sums[c];
      }
      counts.all += static_cast<std::int64_t>(pairs.size()) * panel.columns();
      for (const RowValue& pair : pairs) counts.effectual += panel.effectual(pair.line);
    }
  }
  return counts;
}

}  // namespace lacuna
