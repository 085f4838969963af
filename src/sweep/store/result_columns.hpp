// Numbers stored for each point and for each of its operations: their names, types and sources in a run.
// Every count of an operation (kOpFields) is one of them; tables, messages, views and metrics follow.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "sim/result_fields.hpp"
#include "sweep/store/records.hpp"

namespace lacuna::sweep {

template <typename... Source>
struct ResultColumn {
  std::string_view name;
  std::string_view unit;
  std::string_view type;               // in SQL
  Measure measure = Measure::kCycles;  // NULL unless the plan asks for it
  std::function<Cell(Source...)> value = {};
};

// Sums over the operations of one training step with the whole batch. `energy`: null if it is not priced.
using PointColumn = ResultColumn<const RunResult&, const RunEnergy*>;
const std::vector<PointColumn>& point_columns();

// An operation by its indices in RunResult::layers, its counts as recorded.
using OperationColumn =
    ResultColumn<const RunResult&, const RunEnergy*, std::size_t /* layer */, std::size_t /* op */>;
const std::vector<OperationColumn>& operation_columns();

// The value of each column, NULL for what the plan does not measure.
template <typename... Source, typename... Given>
std::vector<Cell> read_columns(const std::vector<ResultColumn<Source...>>& columns, Measures measures,
                               const Given&... source) {
  std::vector<Cell> cells;
  cells.reserve(columns.size());
  for (const auto& column : columns) {
    const bool asked = (measures & measures_of(column.measure)) != 0;
    cells.push_back(asked ? column.value(source...) : Cell());
  }
  return cells;
}

}  // namespace lacuna::sweep
