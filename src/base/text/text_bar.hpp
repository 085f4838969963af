// Bars of block characters for a terminal, next to numbers that are compared down a column.
#pragma once

#include <cstddef>
#include <string>

namespace lacuna {

inline constexpr std::size_t kBarColumns = 12;

// Returns a bar of `columns` for the largest value, in eighths of a column: at least one eighth for a
// positive value, empty otherwise and for NaN.
std::string bar_text(double value, double largest, std::size_t columns = kBarColumns);

}  // namespace lacuna
