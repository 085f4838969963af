// Results as tables for a person.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/result.hpp"

namespace lacuna {

// One table per model, with one row per operation and one for all, and columns for each machine. Several
// traces of one model are summed (cycles add up over recorded points of training [TensorDash §4.1]) and also
// give a table by progress of the training [TensorDash Fig. 14]; several models give a table of all of them
// at the end [TensorDash Fig. 13]. `layers` adds one row per layer and operation for every trace.
std::string result_tables(const std::vector<RunResult>& runs, bool layers, const TextStyle& style);

// A speedup from empty lanes above this is warned about: the speedup is not what zeros give.
inline constexpr double kWarnEmptyLanes = 1.05;

// Legend below tables with columns of speedups.
inline constexpr std::string_view kSpeedupLegend =
    "\nfrom zeros x empty lanes = speedup over the baseline. 'from zeros' is the speedup without what empty "
    "lanes give: the number to\nquote. 'empty lanes' is what the machine would gain if no value were zero, "
    "from lanes that channels, positions or samples do not\nfill and from borders of images. Speedups in "
    "papers count both.\n";

// Legend below tables with energy efficiencies.
inline constexpr std::string_view kEnergyLegend =
    "\nenergy efficiency: energy of the baseline / energy of the machine. 'from zeros' leaves out what the "
    "machine would save if\nno value were zero (empty lanes): the number to quote.\n";

// "alexnet on imagenette, progress 100 %, accuracy 83.7 %"
std::string trace_title(const TraceInfo& info);

}  // namespace lacuna
