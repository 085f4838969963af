// "Did you mean ...": the nearest of a list of names, for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// Number of insertions, deletions and substitutions of a character and swaps of neighbours that turn `a` into
// `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, or an empty string if none is near enough to be a likely typo.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// The second half of an error about an unknown name: "did you mean 'X'? known: A, B, C".
std::string suggest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace lacuna
