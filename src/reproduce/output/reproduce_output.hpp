// A reproduction as text, Markdown and JSON.
#pragma once

#include <string>

#include "base/text/text_table.hpp"
#include "reproduce/reproduction.hpp"

namespace lacuna::reproduce {

// One line per figure.
std::string figure_list(const TextStyle& style);

// Tables for a terminal: all our numbers, then the comparison with the paper's, then the reasons.
std::string reproduction_text(const Reproduction& reproduction, const TextStyle& style);
// One sentence about all comparisons with the papers.
std::string grade_text(const Reproduction& reproduction);
// One line per number that moved; empty if none did.
std::string moved_text(const Reproduction& reproduction);

// docs/results/reproduce.md
std::string reproduction_markdown(const Reproduction& reproduction);

// docs/schema/reproduce-v2.schema.json
std::string reproduction_json(const Reproduction& reproduction);

// "+3.4 %", "holds", "fails", "not counted"
std::string difference_text(const PaperValue& paper, double ours);
// "1.71x", "99.6 %", "0.053"
std::string number_text(const FigureTable& table, double value);
// The same with its range: "1.71x (1.70-1.72)".
std::string cell_text(const FigureTable& table, const Cell& cell);
// "our reason (A1, A4)"
std::string reason_text(const Reason& reason);

}  // namespace lacuna::reproduce
