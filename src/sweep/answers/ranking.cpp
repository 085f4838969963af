#include "sweep/answers/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/quote.hpp"
#include "sweep/search/pareto.hpp"

namespace lacuna::sweep {

std::vector<RowGroup> row_groups(const Results& results, const std::string& condition, bool per_network) {
  const std::vector<ResultRow> all = per_network ? results.rows : over_all_networks(results);
  if (all.empty()) {
    throw InputError(results.file, "no design has results for every network yet",
                     "let the sweep finish, or ask with --per-network or --network NAME");
  }
  const std::vector<ResultRow> kept = rows_where(results, all, condition, per_network);
  if (kept.empty()) {
    throw InputError("--where",
                     fmt::format("none of the {} rows meets {}", all.size(), quote_name(condition)),
                     "loosen the condition");
  }
  if (!per_network) {
    return {{results.networks.size() == 1 ? results.networks[0] : "", kept, kept.size()}};
  }
  std::vector<RowGroup> groups;
  for (std::size_t network = 0; network < results.networks.size(); ++network) {
    RowGroup group{results.networks[network], {}};
    std::ranges::copy_if(kept, std::back_inserter(group.rows),
                         [&](const ResultRow& row) { return row.network == network; });
    group.of = group.rows.size();
    if (!group.rows.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<ResultRow> best_rows(const std::vector<ResultRow>& rows, const Metric& metric, std::size_t most) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double badness = metric.badness(rows[i]);
    if (!std::isnan(badness)) order.emplace_back(badness, i);
  }
  std::ranges::sort(order);
  std::vector<ResultRow> best;
  for (const auto& [badness, i] : order) {
    if (best.size() == most) break;
    best.push_back(rows[i]);
  }
  return best;
}

std::vector<ResultRow> front_rows(const std::vector<ResultRow>& rows, const Metric& x, const Metric& y) {
  std::vector<Score> scores;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double bad_x = x.badness(rows[i]);
    const double bad_y = y.badness(rows[i]);
    if (std::isnan(bad_x) || std::isnan(bad_y)) continue;
    scores.push_back({{bad_x, bad_y}, 0});
    places.push_back(i);
  }
  std::vector<ResultRow> front;
  for (const std::size_t index : pareto_front(scores)) front.push_back(rows[places[index]]);
  std::ranges::stable_sort(front, [&](const ResultRow& a, const ResultRow& b) {
    const double ax = x.value(a);
    const double bx = x.value(b);
    return ax != bx ? ax < bx : y.value(a) < y.value(b);
  });
  return front;
}

}  // namespace lacuna::sweep
