// Bars of block characters, for a terminal: beside numbers that are compared down a column.
#pragma once

#include <cstddef>
#include <string>

namespace lacuna {

inline constexpr std::size_t kBarColumns = 12;

// As long as `columns` for the largest value, in eighths of a column; at least one eighth for what is above
// zero, empty for what is not or is not a number.
std::string bar_text(double value, double largest, std::size_t columns = kBarColumns);

}  // namespace lacuna
