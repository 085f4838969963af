// The answers as tables for a person and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "sweep/answers/design_diff.hpp"
#include "sweep/answers/effects.hpp"
#include "sweep/answers/ranking.hpp"
#include "sweep/answers/results.hpp"
#include "sweep/answers/scatter.hpp"

namespace lacuna::sweep {

// One table: network (if there are several), rank, design, machine, parameters and numbers; `first` are the
// metrics asked about.
std::string chosen_text(const Results& results, const std::vector<RowGroup>& chosen,
                        const std::vector<const Metric*>& first, const TextStyle& style);
std::string chosen_json(const Results& results, const std::vector<RowGroup>& chosen,
                        const std::vector<const Metric*>& metrics, std::string_view list);

struct MetricEffects {
  std::string metric;
  std::string network;  // empty: all together
  std::vector<Effect> effects;
};
std::string effects_text(const std::vector<MetricEffects>& all, const TextStyle& style);
// The levels of one parameter: a row per value, a column per metric and network.
std::string levels_text(const std::vector<MetricEffects>& all, const std::string& parameter,
                        const TextStyle& style);
std::string effects_json(const std::vector<MetricEffects>& all);

std::string diff_text(const DesignDiff& diff, const TextStyle& style);
std::string diff_json(const DesignDiff& diff);

// Remarks on results that are left out: "Results of lacuna 0.1.0/1; the file also holds some of 0.0.9/1
// (--program)". Usually empty.
std::string remarks_text(const Results& results);

Scatter make_scatter(const Results& results, const RowGroup& group, const std::vector<ResultRow>& front,
                     const Metric& x, const Metric& y);

// The data of the page of `pareto --html` (web/src/sweep): designs, and the metrics by column, per network
// and for all networks together.
std::string page_json(const Results& results, const std::string& condition, const Metric& x, const Metric& y);

}  // namespace lacuna::sweep
