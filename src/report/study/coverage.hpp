// How much of a network a trace holds, wherever its totals are shown.
#pragma once

#include <string>

#include "trace/trace.hpp"

namespace lacuna {

// "74 % of the network's MACs recorded; left out: rnn (LSTM), up (ConvTranspose2d) and 3 more". Empty if the
// trace leaves nothing out.
std::string coverage_text(const TraceInfo& info);

// ", of 74 % of the network", to follow the name of a total; ", of a part of the network" where MACs are not
// known. Empty if the trace leaves nothing out.
std::string total_coverage(const TraceInfo& info);

// The cells of the columns `recorded_share` and `left_out` of a CSV: the share of the network's MACs that the
// trace holds (1: all of them; empty: not known), and how many parts of the network it leaves out.
std::string coverage_cells(const TraceInfo& info);

// The list as JSON: [{"name": "rnn", "type": "LSTM", "macs": 12}, ...]; "macs" is null where it is not known.
std::string left_out_list_json(const TraceInfo& info);

}  // namespace lacuna
