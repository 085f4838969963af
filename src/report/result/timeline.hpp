// A run as a timeline that Perfetto's viewer and chrome://tracing open (Trace Event Format, JSON).
#pragma once

#include <string>
#include <vector>

#include "sim/result.hpp"

namespace lacuna {

// One process per machine and trace, baselines last, each from time 0; a microsecond on the axis is a cycle
// of the whole batch. Tracks: layers, operations, the parts of the memory system, and the units (tiles, PEs)
// if the runs recorded them (SimOptions::units); counters: multipliers, units and DRAM bandwidth in use.
// `otherData.runs` lists the cycles of each process, as the other files have them. How long a part is busy in
// an operation is known, not when: its slices start with the operation.
std::string timeline_json(const std::vector<RunResult>& runs);

}  // namespace lacuna
