// What the parts of a machine cost: data (configs/energy/*.yaml, or a file of the user's), each
// number with its unit, its source and how far it can be trusted.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// The costs a table must give. What is around the tiles (SRAM, DRAM) is also around the PEs of the
// outer-product machines. Energies of logic are of one unit for one cycle at full activity.
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

// The costs of the section `outer_product`, in pJ: what a PE of the SCNN-like and ANT machines does. A table
// without the section serves the machines of tiles only.
enum class OuterCostKey {
  kMultiplierEnergy,       // a multiplier, a cycle
  kAdderEnergy,            // the adder of an accumulator, a cycle
  kCoordinateEnergy,       // where one product belongs, or that it belongs nowhere
  kRangeEnergy,            // ANT: the kernel rows and columns one image vector can use
  kSearchEnergy,           // ANT: one kernel index in the first-n-in-range search
  kCrossbarEnergy,         // one product to its accumulator bank
  kAccumulatorReadEnergy,  // one sum
  kAccumulatorWriteEnergy,
  kRamReadEnergy,  // one value of the RAMs of inputs and outputs
  kRamWriteEnergy,
  kKernelReadEnergy,  // one value of the kernel's buffer
  kIndexReadEnergy,   // one index, or one row pointer, next to the values
  kIndexWriteEnergy,
  kWindowReadEnergy,  // ANT: one of the k kernel indices that a search reads at once
};
inline constexpr std::size_t kOuterCostKeys = 14;
std::string_view cost_name(OuterCostKey key);
std::string_view cost_unit(OuterCostKey key);

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
  std::optional<std::array<Cost, kOuterCostKeys>> outer_product = std::nullopt;

  double value(CostKey key) const { return costs[static_cast<std::size_t>(key)].value; }
  const Cost& cost(CostKey key) const { return costs[static_cast<std::size_t>(key)]; }
  // Only of a table with the section.
  double value(OuterCostKey key) const { return cost(key).value; }
  const Cost& cost(OuterCostKey key) const { return outer_product.value()[static_cast<std::size_t>(key)]; }

  // Throws InputError with file, line and key for what is not such a table: a cost that is negative, not a
  // finite number, without unit, source or confidence, unknown, twice there or missing. The section
  // `outer_product` is whole or not there.
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
