// One cost as YAML: {value: 6.8, unit: pJ, source: "...", confidence: H}. Tables and node factors are made of
// them.
#pragma once

#include <initializer_list>

#include "base/io/yaml/yaml_reader.hpp"
#include "energy/cost_table.hpp"

namespace lacuna {

// `key` names the cost in messages ("mac.cycle"), `units` are those allowed.
Cost read_cost(const YamlReader& reader, const YAML::Node& at, const std::string& key, const YAML::Node& node,
               std::initializer_list<std::string_view> units);

// Throws InputError that the file lacks `key`, unless it is there.
void need_key(const YamlReader& reader, bool there, std::string_view key);

}  // namespace lacuna
