#include "sim/tile/column_panel.hpp"

#include <algorithm>
#include <cstring>

#include "base/vector_clones.hpp"

namespace lacuna {
namespace {

constexpr std::int64_t kVectors = ColumnPanel::kColumns / kWideFloats;

LACUNA_VECTOR_CLONES
void accumulate(const RowValue* row, std::size_t count, const float* panel, float* out) {
  WideVector<float> sums[kVectors] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const float* line = panel + static_cast<std::int64_t>(row[i].line) * ColumnPanel::kColumns;
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < kVectors; ++v) {
      WideVector<float> columns;
      std::memcpy(&columns, line + v * kWideFloats, sizeof(columns));
      sums[v] += row[i].value * columns;
    }
  }
  std::memcpy(out, sums, sizeof(sums));
}

}  // namespace

ColumnPanel::ColumnPanel(const OperandStreams& streams, const TensorValues& values, std::int64_t first_column)
    : ColumnPanel(
          streams,
          [&](std::int64_t stream, std::int64_t step, float* lanes_out) {
            return streams.values(stream, step, values, lanes_out);
          },
          first_column) {}

ColumnPanel::ColumnPanel(const OperandStreams& streams, const Fetch& fetch, std::int64_t first_column)
    : first_(first_column), columns_(std::min(kColumns, streams.count() - first_column)) {
  const std::int64_t lines = streams.steps() * streams.lanes;
  values_.assign(static_cast<std::size_t>(lines * kColumns), 0.0F);
  effectual_.assign(static_cast<std::size_t>(lines), 0);
  std::vector<float> lane_values(static_cast<std::size_t>(streams.lanes));
  for (std::int64_t c = 0; c < columns_; ++c) {
    for (std::int64_t step = 0; step < streams.steps(); ++step) {
      const std::uint64_t bits = fetch(first_column + c, step, lane_values.data());
      for (int lane = 0; lane < streams.lanes; ++lane) {
        const auto line = static_cast<std::size_t>(step * streams.lanes + lane);
        values_[line * kColumns + static_cast<std::size_t>(c)] = lane_values[static_cast<std::size_t>(lane)];
        effectual_[line] += static_cast<std::int32_t>((bits >> lane) & 1);
      }
    }
  }
}

void ColumnPanel::multiply(std::span<const RowValue> row, float* sums) const {
  accumulate(row.data(), row.size(), values_.data(), sums);
}

}  // namespace lacuna
