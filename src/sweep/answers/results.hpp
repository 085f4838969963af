// A file of results in memory: designs, networks and metrics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sweep/expression/expression.hpp"
#include "sweep/store/database.hpp"

namespace lacuna::sweep {

struct ResultDesign {
  std::int64_t id = 0;     // as the views have it
  std::string machine;     // its name in the plan
  std::string parameters;  // those that are not the model's defaults: "rows=8 columns=2"
  // Every parameter, and machine, model, energy_table and node_nm.
  std::map<std::string, Value> settings;

  Value setting(const std::string& name) const;
};

// A design on a network, or on all of them.
struct ResultRow {
  static constexpr std::size_t kAllNetworks = static_cast<std::size_t>(-1);

  std::size_t design = 0;            // index of Results::designs
  std::size_t network = 0;           // index of Results::networks
  std::vector<double> metrics = {};  // of Results::metrics; NaN: not known
};

struct Results {
  std::string file;
  std::string program;                      // that computed these results: "0.1.0/1"
  std::vector<std::string> other_programs;  // that have results in the file as well
  std::vector<std::string> parameters;      // settings with more than one value
  std::vector<std::string> metrics;         // columns of the view with numbers
  std::vector<std::string> networks;
  std::vector<ResultDesign> designs;
  std::vector<ResultRow> rows;  // one per design and network
  std::size_t left_out = 0;     // designs on networks of which some traces are not computed yet

  std::size_t metric(const std::string& name) const;  // its index; metrics.size() if there is none
  // The values that designs have for a setting.
  std::set<Value> values_of(const std::string& setting) const;
  // Names that conditions may use: metrics, settings, design, and network if rows are of one.
  std::vector<std::string> known_names() const;
  Value value(const ResultRow& row, const std::string& name) const;
};

struct ResultSelection {
  std::vector<std::string> networks = {};  // empty: all
  std::string program = {};                // empty: the latest
};

// Throws InputError if the file is not one of results, has none, or has no such network or program.
Results read_results(const std::filesystem::path& file, const ResultSelection& selection);

// The results of given points alone, whatever else the file holds. keys[i][j]: the point of design i on trace
// j. The traces are the networks ("0", "1", ...); points that are not in the file have no row.
Results read_points(const Reader& reader, const std::vector<std::vector<std::string>>& keys);

// One row per design that has results for every network: the geometric mean of each metric, so that no
// network counts more because it is larger. With one network these are its rows.
std::vector<ResultRow> over_all_networks(const Results& results);

}  // namespace lacuna::sweep
