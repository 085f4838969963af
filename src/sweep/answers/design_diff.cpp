#include "sweep/answers/design_diff.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna::sweep {

const ResultDesign& find_design(const Results& results, const std::string& design) {
  const auto number = parse_number<std::int64_t>(design);
  const auto found =
      number ? std::ranges::find(results.designs, *number, &ResultDesign::id) : results.designs.end();
  if (found == results.designs.end()) {
    throw InputError(
        results.file, fmt::format("there is no design {}", quote_name(design)),
        "give a number from the column 'design' of 'lacuna sweep best' or 'lacuna sweep pareto'");
  }
  return *found;
}

DesignDiff diff_designs(const Results& results, const ResultDesign& a, const ResultDesign& b) {
  DesignDiff diff{&a, &b, {}, 0, {}};
  std::set<std::string> names;
  for (const ResultDesign* design : {&a, &b}) {
    for (const auto& [name, value] : design->settings) names.insert(name);
  }
  for (const std::string& name : names) {
    const Value left = a.setting(name);
    const Value right = b.setting(name);
    if (left == right) {
      ++diff.equal_settings;
    } else {
      diff.settings.push_back({name, left, right});
    }
  }
  const auto row_of = [&](const ResultDesign& design, std::size_t network) -> const ResultRow* {
    const auto found = std::ranges::find_if(results.rows, [&](const ResultRow& row) {
      return row.network == network && &results.designs[row.design] == &design;
    });
    return found == results.rows.end() ? nullptr : &*found;
  };
  for (std::size_t network = 0; network < results.networks.size(); ++network) {
    const ResultRow* left = row_of(a, network);
    const ResultRow* right = row_of(b, network);
    if (left == nullptr || right == nullptr) continue;
    for (std::size_t i = 0; i < results.metrics.size(); ++i) {
      const double from = left->metrics[i];
      const double to = right->metrics[i];
      const double ratio = from != 0 ? to / from : std::numeric_limits<double>::quiet_NaN();
      diff.metrics.push_back({results.networks[network], results.metrics[i], from, to, ratio});
    }
  }
  return diff;
}

}  // namespace lacuna::sweep
