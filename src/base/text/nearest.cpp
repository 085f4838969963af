#include "base/text/nearest.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace lacuna {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // The last three rows of the usual table; a swap of neighbours looks two rows back.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  // A third of the name may be mistyped; beyond that a suggestion misleads more than it helps.
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // The difference in length is a lower bound; it avoids the whole table for a hostile name of megabytes.
    const std::size_t at_least =
        std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    const bool extends = !name.empty() && candidate.starts_with(name);
    if (!extends && at_least >= best_distance) continue;
    const std::size_t distance = extends ? 1 : edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = nearest_name(name, candidates);
  return fmt::format("{}known: {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                     fmt::join(candidates, ", "));
}

}  // namespace lacuna
