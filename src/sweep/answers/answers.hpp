// Answers about a file of results: the best designs by a metric and those that none beats in two, how much
// each parameter moves a metric, and what differs between two designs; as tables and as JSON.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text_table.hpp"
#include "sweep/answers/metric.hpp"
#include "sweep/answers/results.hpp"

namespace lacuna::sweep {

// ---- designs as points in a plane, for a terminal; the page of --html draws the same (web/src/sweep)

// The scale of a picture: a range with round ends and the ticks in it.
struct Axis {
  double low = 0;
  double high = 1;
  std::vector<double> ticks = {};
  bool logarithmic = false;

  // 0 at low, 1 at high.
  double place(double value) const {
    return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

// A range around the values, which are finite, with at most about `ticks` round numbers in it. Starts at zero
// if that costs little of the range; logarithmic if the values are positive and span more than a factor of
// thirty.
Axis nice_axis(const std::vector<double>& values, int ticks);

// "0", "12.5", "1.2M", "300n"
std::string tick_text(double value);

struct ScatterPoint {
  double x = 0, y = 0;  // finite
  bool front = false;   // none beats it in both
};

struct Scatter {
  std::string title;
  std::string x_title, y_title;  // with units
  std::vector<ScatterPoint> points;
};

// Draws dots of two by four per character, larger ones for the front.
std::string scatter_text(const Scatter& scatter, const TextStyle& style);

// ---- the best

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

// Rows that have all values and that no other beats in all of them, by ascending values of the first metric.
std::vector<ResultRow> front_rows(const std::vector<ResultRow>& rows,
                                  const std::vector<const Metric*>& metrics);

// ---- effects

// Main effects: how much each parameter moves a metric, the others averaged.
//
// Metrics are compared as ratios, so everything is computed on logarithms. Each value is taken relative to
// the geometric mean of its group: the designs of the same machine on the same network (for the parameter
// 'machine' itself, of all machines). So neither a large network nor a machine without the parameter
// moves the effect.
struct EffectLevel {
  Value value;          // of the parameter
  double relative = 1;  // geometric mean of the metric, relative to that of the group
  std::size_t rows = 0;
};

struct Effect {
  std::string parameter;
  std::vector<EffectLevel> levels;  // by value
  double ratio = 1;                 // the highest level over the lowest
  double share = 0;  // of the variance (of logarithms) that the parameter alone explains, 0 to 1
  std::size_t best = 0, worst = 0;  // levels
};

// Effects of all parameters with at least two values, the largest ratio first. Rows whose metric is missing
// or not positive do not count.
std::vector<Effect> main_effects(const Results& results, const std::vector<ResultRow>& rows,
                                 const Metric& metric);

std::string value_text(const Value& value);  // "16", "on", "lockstep", "-"

// ---- differences

struct SettingDifference {
  std::string name;
  Value a, b;
};
struct MetricDifference {
  std::string network;
  std::string metric;
  double a = 0, b = 0;
  double ratio = 0;  // b / a; NaN where there is none
};
struct DesignDiff {
  const ResultDesign* a;
  const ResultDesign* b;
  std::vector<SettingDifference> settings;
  std::size_t equal_settings = 0;
  std::vector<MetricDifference> metrics;  // of networks that both have, all of them
};

// Returns the design of that number, as the tables show it. Throws InputError if there is none.
const ResultDesign& find_design(const Results& results, const std::string& design);
DesignDiff diff_designs(const Results& results, const ResultDesign& a, const ResultDesign& b);

// ---- text, JSON and the page

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
std::string remarks_text(const Results& results, const std::vector<RowGroup>& compared = {});

Scatter make_scatter(const Results& results, const RowGroup& group, const std::vector<ResultRow>& front,
                     const Metric& x, const Metric& y);

// The data of the page of `pareto --html` (web/src/sweep): designs, and the metrics by column, per network
// and for all networks together.
std::string page_json(const Results& results, const std::string& condition, const Metric& x, const Metric& y);

}  // namespace lacuna::sweep
