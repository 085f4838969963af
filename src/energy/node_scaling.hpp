// Cost tables at another technology node.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "energy/cost_table.hpp"

namespace lacuna {

// Factors from 65 nm to another node (configs/energy/node-scaling.yaml).
struct NodeScale {
  int node_nm = 65;
  Cost logic_energy, logic_area, delay, sram_energy, sram_area;

  static std::vector<NodeScale> parse_all(std::string_view yaml, const std::string& file);
  static std::vector<int> known();
  // Throws InputError for a node that is not known.
  static NodeScale find(int node_nm, std::string_view origin);
};

// The table at another node: each part as logic or as SRAM, what is off the chip as it is. Throws InputError
// for a table of a node that is not known.
CostTable scale_to_node(const CostTable& table, const NodeScale& node);

}  // namespace lacuna
