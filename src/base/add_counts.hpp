// Sums of records of counts.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lacuna {

// Adds `more` to `sum`, member by member. All members must be std::int64_t, so that none is forgotten.
template <typename Counts>
constexpr Counts& add_counts(Counts& sum, const Counts& more) {
  constexpr std::size_t kMembers = sizeof(Counts) / sizeof(std::int64_t);
  constexpr auto only_counts = []<std::size_t... I>(std::index_sequence<I...>) {
    return requires(std::int64_t count) { Counts{((void)I, count)...}; };  // would narrow to any other type
  };
  static_assert(only_counts(std::make_index_sequence<kMembers>()));
  auto total = std::bit_cast<std::array<std::int64_t, kMembers>>(sum);
  const auto added = std::bit_cast<std::array<std::int64_t, kMembers>>(more);
  for (std::size_t i = 0; i < kMembers; ++i) total[i] += added[i];
  return sum = std::bit_cast<Counts>(total);
}

}  // namespace lacuna
