#include "sim/tile/stream_products.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "base/ceil_div.hpp"
#include "base/vector_clones.hpp"
#include "base/work_progress.hpp"

namespace lacuna {
namespace {

constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kVectors = kColumns / kWideFloats;

LACUNA_VECTOR_CLONES
void accumulate(const RowValue* row, std::size_t count, const float* panel, float* out) {
  WideVector<float> sums[kVectors] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const float* line = panel + static_cast<std::int64_t>(row[i].line) * kColumns;
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < kVectors; ++v) {
      WideVector<float> columns;
      std::memcpy(&columns, line + v * kWideFloats, sizeof(columns));
      sums[v] += row[i].value * columns;
    }
  }
  std::memcpy(out, sums, sizeof(sums));
}

// Some streams of an operand: for each (step, lane) one line of kColumns values, so that a selected pair is
// multiplied in all of them at once. 64 columns and 2,304 lines (3x3x256) are 576 KB: they stay in the
// second-level cache while the other operand's streams pass over them.
struct ColumnPanel {
  std::int64_t first, columns;  // columns that exist, of kColumns
  std::vector<float> values;
  std::vector<std::uint64_t> nonzero;   // by line: columns that are not zero
  std::vector<std::int32_t> effectual;  // by line: how many

  ColumnPanel(const OperandStreams& streams, const FetchValues& fetch, std::int64_t first_column)
      : first(first_column),
        columns(std::min(kColumns, streams.count() - first_column)),
        values(static_cast<std::size_t>(streams.steps() * streams.lanes * kColumns), 0.0F),
        nonzero(values.size() / kColumns, 0),
        effectual(nonzero.size(), 0) {
    std::vector<float> lane_values(static_cast<std::size_t>(streams.lanes));
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t step = 0; step < streams.steps(); ++step) {
        const std::uint64_t bits = fetch(first + c, step, lane_values.data());
        for (int lane = 0; lane < streams.lanes; ++lane) {
          const auto line = static_cast<std::size_t>(step * streams.lanes + lane);
          values[line * kColumns + static_cast<std::size_t>(c)] = lane_values[static_cast<std::size_t>(lane)];
          nonzero[line] |= ((bits >> lane) & 1) << c;
          effectual[line] += static_cast<std::int32_t>((bits >> lane) & 1);
        }
      }
    }
  }
};

}  // namespace

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
                                 const LayerShape& shape, Operation op, const FetchValues& fetch,
                                 const SelectPairs& select, std::vector<float>& result,
                                 const NeededOutputs* needed) {
  const bool primary = &selecting == &product.primary;
  const OperandStreams& other = primary ? product.secondary : product.primary;
  MultipliedPairs counts;
  std::vector<RowValue> pairs;
  std::vector<ColumnPanel> panels;
  float sums[kColumns];
  // As many panels at once as fit 64 MB; where there are more, pairs are selected again for each batch of
  // them.
  constexpr std::int64_t kBytes = 64 << 20;
  const std::int64_t panel_bytes = other.steps() * other.lanes * kColumns * 4;
  const std::int64_t batch = kColumns * std::max<std::int64_t>(1, kBytes / panel_bytes);
  WorkSteps steps(ceil_div(other.count(), batch) * selecting.count());
  for (std::int64_t begin = 0; begin < other.count(); begin += batch) {
    panels.clear();
    for (std::int64_t first = begin; first < std::min(begin + batch, other.count()); first += kColumns)
      panels.emplace_back(other, fetch, first);
    for (std::int64_t stream = 0; stream < selecting.count(); ++stream, steps.next()) {
      pairs.clear();
      select(stream, pairs);
      for (const ColumnPanel& panel : panels) {
        accumulate(pairs.data(), pairs.size(), panel.values.data(), sums);
        // Panels are as wide as words.
        const std::uint64_t computed =
            needed != nullptr ? needed->words(stream)[static_cast<std::size_t>(panel.first / kColumns)]
                              : ~std::uint64_t{0};
        for (std::int64_t c = 0; c < panel.columns; ++c) {
          if (((computed >> c) & 1) == 0) continue;
          const std::int64_t at = primary ? product.output_index(shape, op, stream, panel.first + c)
                                          : product.output_index(shape, op, panel.first + c, stream);
          result[static_cast<std::size_t>(at)] += sums[c];
        }
        if (needed != nullptr) {
          counts.all += std::ssize(pairs) * std::popcount(computed);
          for (const RowValue& pair : pairs)
            counts.effectual += std::popcount(panel.nonzero[static_cast<std::size_t>(pair.line)] & computed);
          continue;
        }
        counts.all += static_cast<std::int64_t>(pairs.size()) * panel.columns;
        for (const RowValue& pair : pairs)
          counts.effectual += panel.effectual[static_cast<std::size_t>(pair.line)];
      }
    }
  }
  return counts;
}

MultipliedPairs multiply_streams(const LaneProduct& product, const OperandStreams& selecting,
                                 const LayerShape& shape, Operation op, const LayerValues& values,
                                 const SelectPairs& select, std::vector<float>& result,
                                 const NeededOutputs* needed) {
  const OperandStreams& other = &selecting == &product.primary ? product.secondary : product.primary;
  const FetchValues fetch = [&](std::int64_t stream, std::int64_t step, float* lanes_out) {
    return other.values(stream, step, values.of(other.role), lanes_out);
  };
  return multiply_streams(product, selecting, shape, op, fetch, select, result, needed);
}

std::int64_t multiply_all(const std::vector<PlacedProduct>& products, const LayerShape& shape, Operation op,
                          const LayerValues& values, std::vector<float>& result) {
  std::int64_t effectual = 0;
  for (const PlacedProduct& placed : in_steps(products)) {
    const LaneProduct& product = *placed.product;
    const OperandStreams& streams = placed.needed != nullptr ? *placed.rows : product.primary;
    const auto select = [&](std::int64_t stream, std::vector<RowValue>& pairs) {
      for (std::int64_t step = 0; step < streams.steps(); ++step)
        append_nonzeros(streams, stream, step, values.of(streams.role), pairs);
    };
    effectual +=
        multiply_streams(product, streams, shape, op, values, select, result, placed.needed.get()).effectual;
  }
  return effectual;
}

}  // namespace lacuna
