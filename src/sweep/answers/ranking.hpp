// The best designs by a metric, and those that none beats in two.
#pragma once

#include <string>
#include <vector>

#include "sweep/answers/metric.hpp"
#include "sweep/answers/results.hpp"

namespace lacuna::sweep {

// Rows of one network, or of all together.
struct RowGroup {
  std::string network;  // empty: all
  std::vector<ResultRow> rows;
  std::size_t of = 0;  // rows that these were chosen from
};
// The groups with the rows that meet the condition, in the order of the networks. Throws InputError if no row
// does.
std::vector<RowGroup> row_groups(const Results& results, const std::string& condition, bool per_network);

// Best first, at most `most`; rows without a value are left out. Equal ones in the order of designs.
std::vector<ResultRow> best_rows(const std::vector<ResultRow>& rows, const Metric& metric, std::size_t most);

// Rows that have both values and that no other beats in both, by ascending x.
std::vector<ResultRow> front_rows(const std::vector<ResultRow>& rows, const Metric& x, const Metric& y);

}  // namespace lacuna::sweep
