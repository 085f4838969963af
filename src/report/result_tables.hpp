// Results as tables for a person.
#pragma once

#include <string>
#include <vector>

#include "report/text_table.hpp"
#include "sim/result.hpp"

namespace lacuna {

// One table per model, with one row per operation and one for all, and columns for each machine. Several
// traces of one model are summed (cycles add up over recorded points of training [TensorDash §4.1]) and also
// give a table by progress of the training [TensorDash Fig. 14]; several models give a table of all of them
// at the end [TensorDash Fig. 13]. `layers` adds one row per layer and operation for every trace.
std::string result_tables(const std::vector<RunResult>& runs, bool layers, const TextStyle& style);

// "alexnet on imagenette, progress 100 %, accuracy 83.7 %"
std::string trace_title(const TraceInfo& info);

}  // namespace lacuna
