// The models of TensorDash's evaluation, and tables with a row for each of them.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "reproduce/figure.hpp"
#include "reproduce/runs.hpp"
#include "tensor/operation.hpp"

namespace lacuna::reproduce {

// [TensorDash §4]: the traces at the end of training, "alexnet_p100" and so on.
const std::vector<std::string>& paper_models();
inline std::string last_trace(const std::string& model) { return model + "_p100"; }

double mean_of(const std::vector<std::string>& names, const std::function<double(const std::string&)>& value);
inline double geometric_mean_of(const std::vector<std::string>& names,
                                const std::function<double(const std::string&)>& value) {
  return std::exp(mean_of(names, [&](const std::string& name) { return std::log(value(name)); }));
}

inline constexpr const char* kMeanRow = "mean of the eight";

// The operations as TensorDash's paper calls them.
inline constexpr PerOperation<const char*> kOperationTitles{"A*W", "W*G", "A*G"};
// Sums over a run or over its zeros: of one operation, or of all.
inline const char* operation_title(std::optional<Operation> op) { return op ? kOperationTitles[*op] : "all"; }
inline constexpr std::optional<Operation> kOperationsAndAll[] = {Operation::kForward, Operation::kInputGrad,
                                                                 Operation::kWeightGrad, std::nullopt};

// A column: a number of a trace.
struct Column {
  std::string title;
  std::function<double(const std::string& trace)> of;
};

// A machine of a figure, as a column.
struct Variant {
  std::string title;
  std::string arch;
  Settings settings;
  std::optional<Operation> op = std::nullopt;  // all of them if none
};

double speedup_of(const Runs& runs, const std::string& trace, const std::string& arch,
                  const Settings& settings, std::optional<Operation> op = std::nullopt);
// All MACs / those whose targeted operand is not zero, of the batch.
double potential_of(const Runs& runs, const std::string& trace, std::optional<Operation> op = std::nullopt);
Column speedup_column(const Runs& runs, const Variant& variant);
std::vector<Column> speedup_columns(const Runs& runs, const std::vector<Variant>& variants);

// Adds the cell of a column and a trace. Where the trace has several samples, its range is that of the two
// halves of them.
void set_with_halves(const Runs& runs, FigureTable& table, const std::string& row, const Column& column,
                     const std::string& trace);
// Fills a table with a row per model, from its last trace, and their mean.
FigureTable by_model(const Runs& runs, FigureTable table, const std::vector<Column>& columns);
// The same with rows of other traces, and no mean.
FigureTable by_trace(const Runs& runs, FigureTable table, const std::vector<std::string>& traces,
                     const std::vector<Column>& columns);
// Adds a cell with a number of several traces; its range is that of the first and of the second halves of
// their samples.
void set_of_all_with_halves(const Runs& runs, FigureTable& table, const std::string& row,
                            const std::string& column, const std::vector<std::string>& traces,
                            const std::function<double(const std::vector<std::string>&)>& of);
// Adds a cell with the mean over seeds, and their range.
void set_over_seeds(FigureTable& table, const std::string& row, const std::string& column,
                    const std::function<double(int seed)>& of, int seeds);

}  // namespace lacuna::reproduce
