// What the parts of a machine of tiles cost: data (configs/energy/*.yaml, or a file of the user's), each
// number with its unit, its source and how far it can be trusted.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// The costs a table must give. Energies of logic are of one unit for one cycle at full activity.
enum class CostKey {
  kMacEnergy,  // a multiplier and its part of the adder tree and accumulator, a cycle
  kMacArea,
  kTransposerEnergy,  // a transposer, a cycle
  kTransposerArea,
  kMuxInputEnergy,  // one input of one lane's multiplexer, a cycle
  kMuxInputArea,
  kSchedulerInputEnergy,  // one choice of one lane's priority encoder, a cycle
  kSchedulerInputArea,
  kZeroCounterEnergy,  // counting the zeros of a row of 16 outputs
  kSramReadEnergy,     // AM, BM, CM: a row of 16 values
  kSramWriteEnergy,
  kSramBankArea,
  kScratchpadReadEnergy,  // a row of 16 values
  kScratchpadWriteEnergy,
  kScratchpadsArea,  // of a tile of 4 x 4 PEs of 16 lanes
  kPsumReadEnergy,   // one partial sum
  kPsumWriteEnergy,
  kDramBitEnergy,         // one bit over the bus, read or written
  kDramActivationEnergy,  // one row opened
  kDramStaticPower,
};
inline constexpr std::size_t kCostKeys = 20;

std::string_view cost_name(CostKey key);  // as in the files: "mac_energy"
std::string_view cost_unit(CostKey key);  // the only one allowed: "pJ"

enum class Confidence {
  kHigh,    // read from a primary table, or computed from one
  kMedium,  // a tool's output or a secondary source; 30 % either way
  kLow,     // inferred
};
char confidence_letter(Confidence confidence);

struct Cost {
  double value = 0;
  std::string unit;
  std::string source;
  Confidence confidence = Confidence::kLow;
};

struct CostTable {
  std::string name;
  std::string summary;
  double node_nm = 65;
  std::string data_type;  // fp32 | bfloat16
  std::array<Cost, kCostKeys> costs;

  double value(CostKey key) const { return costs[static_cast<std::size_t>(key)].value; }
  const Cost& cost(CostKey key) const { return costs[static_cast<std::size_t>(key)]; }

  // Throws InputError with file, line and key for what is not such a table: a cost that is negative, not a
  // finite number, without unit, source or confidence, unknown, twice there or missing.
  static CostTable parse(std::string_view yaml, const std::string& file);
  // A table that is built in, by name; or a file, where the name is a path that exists or looks like one.
  // `origin`
  // ("--energy-table") starts the message about a name that is neither.
  static CostTable open(const std::string& name_or_file, std::string_view origin);
  static std::vector<std::string> built_in();
  // The built-in table of a data type.
  static CostTable of_data_type(std::string_view data_type);
};

// Factors from 65 nm to another node (configs/energy/node-scaling.yaml).
struct NodeScale {
  int node_nm = 65;
  Cost logic_energy, logic_area, delay, sram_energy, sram_area;

  static std::vector<NodeScale> parse_all(std::string_view yaml, const std::string& file);
  static std::vector<int> known();
  // Throws InputError for a node that is not known.
  static NodeScale find(int node_nm, std::string_view origin);
};

// The table at another node: logic and SRAM scaled, DRAM as it is. Throws InputError for a table that is not
// of 65 nm.
CostTable scale_to_node(const CostTable& table, const NodeScale& node);

}  // namespace lacuna
