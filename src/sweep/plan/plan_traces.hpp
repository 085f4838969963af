// The traces of a plan: files, patterns and synthetic networks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/io/yaml/yaml_reader.hpp"
#include "sweep/plan/plan.hpp"

namespace lacuna::sweep {

// `read_files` off: paths stand as they are. Each synthetic trace comes once per seed. Throws InputError.
std::vector<PlanTrace> read_traces(const YamlReader& yaml, bool read_files, const YAML::Node& at,
                                   const YAML::Node& list, const std::vector<std::uint64_t>& seeds);

}  // namespace lacuna::sweep
