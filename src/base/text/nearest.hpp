// "Did you mean ...": the nearest of a list of names, for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// Counts the insertions, deletions, substitutions and swaps of neighbouring characters that turn `a` into
// `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns the candidate nearest to `name`, or an empty string if none is near enough to be a likely typo.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// Returns the second half of an error about an unknown name: "did you mean 'X'? known: A, B, C".
std::string suggest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace lacuna
