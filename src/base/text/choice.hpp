// Enumerations that users choose by name. `names` lists the names in the order of the enumeration's values.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text/nearest.hpp"

namespace lacuna {

template <typename Enum, typename Names>
const char* choice_name(Enum value, const Names& names) {
  return names[static_cast<std::size_t>(value)];
}

// Returns the value called `name`. Throws InputError, which starts with `option` and suggests the nearest
// name.
template <typename Enum, typename Names>
Enum parse_choice(std::string_view option, std::string_view name, const Names& names) {
  const auto at = std::ranges::find(names, name, [](const char* known) { return std::string_view(known); });
  if (at == std::ranges::end(names))
    throw InputError(std::string(option) + " " + std::string(name), "unknown name",
                     suggest(name, std::vector<std::string>(names.begin(), names.end())));
  return static_cast<Enum>(at - std::ranges::begin(names));
}

}  // namespace lacuna
