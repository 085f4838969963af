// Energy of ANT and of the SCNN-like machine by component: which parts fall with the cycles, and which do
// not.
#pragma once

#include <string>

#include "reproduce/figure.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {

// Rows are components, over the five networks with ReSprop and SWAT: shares of both machines' energies, and
// the energy saved over the speedup, whose like in the paper is 1.19.
FigureTable ant_components_table(const Runs& runs);
// The same by network, next to the paper's energy saved over its speedup.
FigureTable ant_saved_table(const FigureInputs& in);
// Says why energy falls less than the cycles, and which way of counting would give the paper's mean.
std::string ant_components_note(const FigureTable& components, const FigureTable& saved);

}  // namespace lacuna::reproduce
