// The files of configs/energy: tables and node factors are made of costs.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "base/io/embedded_file.hpp"
#include "base/io/yaml/yaml_reader.hpp"
#include "energy/cost_table.hpp"

namespace lacuna {

std::span<const EmbeddedFile> embedded_energy_tables();  // made by lacuna_embed()

inline constexpr std::string_view kNodeScalingFile = "node-scaling.yaml";  // the only one that is not a table

// Reads {value: 6.8, unit: pJ, source: "...", confidence: H}. `key` names the cost in messages ("mac.cycle"),
// `units` are those allowed.
Cost read_cost(const YamlReader& reader, const YAML::Node& at, const std::string& key, const YAML::Node& node,
               std::initializer_list<std::string_view> units);

// Throws InputError that the file lacks `key`, unless it is there.
void need_key(const YamlReader& reader, bool there, std::string_view key);

}  // namespace lacuna
