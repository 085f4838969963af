// How much of a network a trace holds, wherever its totals are shown.
#pragma once

#include <string>

#include "base/text/csv.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// "74 % of the network's MACs recorded; left out: rnn (LSTM), up (ConvTranspose2d) and 3 more". Empty if the
// trace leaves nothing out.
std::string coverage_text(const TraceInfo& info);

// ", of 74 % of the network", to follow the name of a total; ", of a part of the network" where MACs are not
// known. Empty if the trace leaves nothing out.
std::string total_coverage(const TraceInfo& info);

// Adds the cells of the columns `recorded_share` and `left_out`: the share of the network's MACs that the
// trace holds (1: all of them; empty: not known), and how many parts of the network it leaves out.
void append_coverage(CsvRow& row, const TraceInfo& info);

}  // namespace lacuna
