// The two networks of TensorDash's evaluation that were recorded on a part of their data.
#pragma once

#include <string>
#include <vector>

#include "reproduce/figure.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {

// Their speedups on one tile as recorded, and with masks drawn to what the paper publishes of the zeros of
// all models; means of the eight with either.
FigureTable stand_ins_table(const Runs& runs);
// Says which of them the means of the other tables use, and why.
std::string stand_ins_note(const FigureTable& table);

}  // namespace lacuna::reproduce
