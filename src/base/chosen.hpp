// Parameters that are choices, as enumerators.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/params.hpp"

namespace lacuna {

// Returns the value of a choice; its words are declared in the order of the enumeration.
template <typename Enum>
Enum chosen(const Params& params, std::string_view key) {
  const auto& words = std::ranges::find(params.specs(), key, &ParamSpec::name)->choices;
  return static_cast<Enum>(std::ranges::find(words, params.text(key)) - words.begin());
}

}  // namespace lacuna
