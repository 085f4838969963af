#include "energy/node_scaling.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "energy/cost_reader.hpp"

namespace lacuna {
namespace {

constexpr std::array<std::pair<std::string_view, Cost NodeScale::*>, 5> kFactors{{
    {"logic_energy", &NodeScale::logic_energy},
    {"logic_area", &NodeScale::logic_area},
    {"delay", &NodeScale::delay},
    {"sram_energy", &NodeScale::sram_energy},
    {"sram_area", &NodeScale::sram_area},
}};

NodeScale read_node(const YamlReader& reader, const std::string& name, const YAML::Node& at,
                    const YAML::Node& factors) {
  NodeScale scale;
  scale.node_nm = static_cast<int>(reader.number(at, name, YAML::Node(name)));
  std::size_t given = 0;
  reader.each(factors, quote_name(name),
              [&](const std::string& key, const YAML::Node& key_at, const YAML::Node& value) {
                const auto known =
                    std::ranges::find(kFactors, std::string_view(key), [](const auto& f) { return f.first; });
                if (known == kFactors.end()) {
                  std::vector<std::string> names;
                  for (const auto& factor : kFactors) names.emplace_back(factor.first);
                  reader.fail(key_at, fmt::format("unknown key {}", quote_name(key)), suggest(key, names));
                }
                scale.*known->second = read_cost(reader, key_at, key, value, {"ratio"});
                ++given;
              });
  if (given != kFactors.size()) {
    reader.fail(at, fmt::format("node {} does not have all five factors", quote_name(name)), "add them");
  }
  return scale;
}

std::vector<NodeScale> read_nodes(const YamlReader& reader, const YAML::Node& root) {
  std::vector<NodeScale> scales;
  reader.each(root, "the file", [&](const std::string& key, const YAML::Node& at, const YAML::Node& nodes) {
    if (key != "nodes") reader.fail(at, fmt::format("unknown key {}", quote_name(key)), "write 'nodes:'");
    reader.each(nodes, "'nodes'",
                [&](const std::string& name, const YAML::Node& node_at, const YAML::Node& factors) {
                  scales.push_back(read_node(reader, name, node_at, factors));
                });
  });
  return scales;
}

const std::vector<NodeScale>& built_in_scales() {
  static const std::vector<NodeScale> scales = [] {
    for (const EmbeddedFile& file : embedded_energy_tables()) {
      if (file.name == kNodeScalingFile) return NodeScale::parse_all(file.bytes, std::string(file.name));
    }
    return std::vector<NodeScale>();
  }();
  return scales;
}

// Multiplies a cost by the factor of one node over that of the other.
void scale_cost(Cost& cost, const Cost& from, const NodeScale& node, const Cost& to) {
  cost.value *= to.value / from.value;
  cost.confidence = std::max({cost.confidence, from.confidence, to.confidence});
  cost.source += fmt::format("; to {} nm: {}", node.node_nm, to.source);
}

}  // namespace

std::vector<NodeScale> NodeScale::parse_all(std::string_view yaml, const std::string& file) {
  const YamlReader reader(file);
  return reader.load(yaml, {"a list of node factors", "start with 'nodes:'"},
                     [&](const YAML::Node& root) { return read_nodes(reader, root); });
}

std::vector<int> NodeScale::known() {
  std::vector<int> nodes;
  for (const NodeScale& scale : built_in_scales()) nodes.push_back(scale.node_nm);
  return nodes;
}

NodeScale NodeScale::find(int node_nm, std::string_view origin) {
  for (const NodeScale& scale : built_in_scales()) {
    if (scale.node_nm == node_nm) return scale;
  }
  throw InputError(origin, fmt::format("no factors for {} nm", node_nm),
                   fmt::format("known: {}", fmt::join(known(), ", ")));
}

CostTable scale_to_node(const CostTable& table, const NodeScale& node) {
  if (table.node_nm == node.node_nm) return table;
  const auto own = static_cast<int>(table.node_nm);
  const NodeScale from =
      NodeScale::find(own == table.node_nm ? own : 0,
                      fmt::format("the energy table '{}', scaled to {} nm", table.name, node.node_nm));
  CostTable scaled = table;
  scaled.node_nm = node.node_nm;
  for (PartCosts& part : scaled.parts) {
    if (part.scaling == Scaling::kNone) continue;
    const bool logic = part.scaling == Scaling::kLogic;
    for (auto& [name, cost] : part.costs) {
      Cost NodeScale::*factor = name == kAreaCost
                                    ? (logic ? &NodeScale::logic_area : &NodeScale::sram_area)
                                    : (logic ? &NodeScale::logic_energy : &NodeScale::sram_energy);
      scale_cost(cost, from.*factor, node, node.*factor);
    }
  }
  return scaled;
}

}  // namespace lacuna
