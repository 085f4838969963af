// Share of a network that a trace holds, for every place that shows totals.
#pragma once

#include <optional>
#include <string>

#include "trace/trace.hpp"

namespace lacuna {

// "74 % of the network's MACs recorded; left out: rnn (LSTM), up (ConvTranspose2d) and 3 more". Empty if the
// trace leaves nothing out.
std::string coverage_text(const TraceInfo& info);

// ", of 74 % of the network", to follow the name of a total; ", of a part of the network" where MACs are not
// known. Empty if the trace leaves nothing out.
std::string total_coverage(const TraceInfo& info);

// The share of the network's MACs that the trace holds: 1 if it leaves nothing out, nothing if it is not
// known.
std::optional<double> coverage_share(const TraceInfo& info);

}  // namespace lacuna
