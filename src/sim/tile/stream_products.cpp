#include "sim/tile/stream_products.hpp"

#include "base/ceil_div.hpp"
#include "base/work_progress.hpp"

namespace lacuna {

void append_nonzeros(const OperandStreams& streams, std::int64_t stream, std::int64_t step,
                     const TensorValues& values, std::vector<RowValue>& pairs) {
  float lanes[64];
  const std::uint64_t nonzero = streams.values(stream, step, values, lanes);
  for (int lane = 0; lane < streams.lanes; ++lane) {
    if ((nonzero >> lane) & 1)
      pairs.push_back({lanes[lane], static_cast<std::int32_t>(step * streams.lanes + lane)});
  }
}

MultipliedPairs multiply_streams(const LaneProduct& product, const OperandStreams& selecting,
                                 const LayerShape& shape, Operation op, const LayerValues& values,
                                 const SelectPairs& select, std::vector<float>& result) {
  const bool primary = &selecting == &product.primary;
  const OperandStreams& other = primary ? product.secondary : product.primary;
  MultipliedPairs counts;
  std::vector<RowValue> pairs;
  float sums[ColumnPanel::kColumns];
  WorkSteps steps(ceil_div(other.count(), ColumnPanel::kColumns) * selecting.count());
  for (std::int64_t first = 0; first < other.count(); first += ColumnPanel::kColumns) {
    const ColumnPanel panel(other, values.of(other.role), first);
    for (std::int64_t stream = 0; stream < selecting.count(); ++stream, steps.next()) {
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

std::int64_t multiply_all(const std::vector<LaneProduct>& products, const LayerShape& shape, Operation op,
                          const LayerValues& values, std::vector<float>& result) {
  std::int64_t effectual = 0;
  for (const LaneProduct& product : in_steps(products)) {
    const OperandStreams& streams = product.primary;
    const auto select = [&](std::int64_t stream, std::vector<RowValue>& pairs) {
      for (std::int64_t step = 0; step < streams.steps(); ++step)
        append_nonzeros(streams, stream, step, values.of(streams.role), pairs);
    };
    effectual += multiply_streams(product, streams, shape, op, values, select, result).effectual;
  }
  return effectual;
}

}  // namespace lacuna
