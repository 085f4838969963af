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

// A machine that is faster than its baseline by more than this without any zero is warned about: its speedup
// is not what zeros give.
inline constexpr double kWarnWithoutZeros = 1.05;

// Legend below tables with columns of speedups.
inline constexpr std::string_view kSpeedupLegend =
    "\nfrom zeros x without zeros = speedup over the baseline, which is what papers print.\n"
    "'from zeros': how many times as long the same machine would take if no value were zero.\n"
    "'without zeros': its speedup then; above 1 from lanes that channels, positions or samples do not\n"
    "fill and from borders of images, below 1 where zeros first have to make up for what skipping them\n"
    "costs.\n";

// Legend below tables with energy efficiencies.
inline constexpr std::string_view kEnergyLegend =
    "\nenergy efficiency: energy of the baseline / energy of the machine.\n"
    "'from zeros': energy of the machine if no value were zero / its energy.\n";

// "alexnet on imagenette, progress 100 %, accuracy 83.7 %"
std::string trace_title(const TraceInfo& info);

}  // namespace lacuna
