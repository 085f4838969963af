// Questions about a file of results: `lacuna sweep best`, `pareto`, `effects` and `diff`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "sweep/answers/results.hpp"

namespace lacuna::sweep {

struct Question {
  std::string results;        // file
  ResultSelection selection;  // of it
  std::string where;          // condition that rows must meet; empty: none
  bool per_network = false;   // each network by itself, not the geometric mean of all
  bool page = false;          // also the data of the page
};

// Metrics are texts that Metric reads.
struct BestQuestion : Question {
  std::string metric = "seconds";
  std::uint64_t top = 0;  // rows of each group; 0: the usual number
};
// Default metrics: time, energy and area if they are measured; drawn as time over area.
struct ParetoQuestion : Question {
  std::string x, y;
  std::vector<std::string> also;  // more that a design on the front may be best in
};
struct EffectsQuestion : Question {
  std::vector<std::string> metrics;  // empty: the usual ones
  std::string parameter;             // show the mean for each value of it; empty: effects of all
};
struct DiffQuestion : Question {
  std::string a, b;  // numbers of designs
};

struct Answer {
  std::string text;       // tables for a person
  std::string json;       // for programs
  std::string page = {};  // JSON for the page of --html
};

// Throws InputError for a file, name, metric or condition that cannot be used.
Answer answer(const BestQuestion& question, const TextStyle& style);
Answer answer(const ParetoQuestion& question, const TextStyle& style);
Answer answer(const EffectsQuestion& question, const TextStyle& style);
Answer answer(const DiffQuestion& question, const TextStyle& style);

}  // namespace lacuna::sweep
