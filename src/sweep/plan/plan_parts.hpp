// Parts of a plan: the values of a parameter, and the traces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/io/yaml/yaml_reader.hpp"
#include "sweep/plan/plan.hpp"

namespace lacuna::sweep {

// A value as it was written, and where.
struct PlanValue {
  std::string text;
  std::string where;
};

// 4 | [2, 4, 8] | {from: 2, to: 64, times: 2} | {from: 1, to: 9, step: 2}; an element of a list may be a list
// itself, which becomes text. Throws InputError for anything else, an empty list, or too many values.
// A value that comes twice is refused unless `repeats`, as in a zip.
std::vector<PlanValue> read_values(const YamlReader& yaml, const std::string& key, const YAML::Node& at,
                                   const YAML::Node& value, bool repeats = false);

// `read_files` off: paths stand as they are. Each synthetic trace comes once per seed. Throws InputError.
std::vector<PlanTrace> read_traces(const YamlReader& yaml, bool read_files, const YAML::Node& at,
                                   const YAML::Node& list, const std::vector<std::uint64_t>& seeds);

}  // namespace lacuna::sweep
