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
// One line per number that moved; empty if none did.
std::string moved_text(const Reproduction& reproduction);

// docs/results/reproduce.md
std::string reproduction_markdown(const Reproduction& reproduction);

// docs/schema/reproduce-v1.schema.json
std::string reproduction_json(const Reproduction& reproduction);

// "+3.4 %", "holds" (a bound), "" (words)
std::string difference_text(const PaperValue& paper, double ours);
// "1.71x", "99.6 %", "0.053"
std::string number_text(const FigureTable& table, double value);
// "our reason (A1, A4)"
std::string reason_text(const Reason& reason);
// Whether the cell's difference needs a reason.
bool differs_much(const PaperValue& paper, double ours);

}  // namespace lacuna::reproduce
