#include "energy/cost_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "base/embedded_file.hpp"
#include "base/nearest.hpp"
#include "base/yaml/load_yaml.hpp"

namespace lacuna {

std::span<const EmbeddedFile> embedded_energy_tables();  // made by lacuna_embed()

namespace {

constexpr std::size_t kLongestText = 1000;
constexpr std::string_view kNodeFile = "node-scaling.yaml";

struct KeyInfo {
  std::string_view name;
  std::string_view unit;
};
constexpr std::array<KeyInfo, kCostKeys> kKeys{{
    {"mac_energy", "pJ"},
    {"mac_area", "um2"},
    {"transposer_energy", "pJ"},
    {"transposer_area", "um2"},
    {"mux_input_energy", "pJ"},
    {"mux_input_area", "um2"},
    {"scheduler_input_energy", "pJ"},
    {"scheduler_input_area", "um2"},
    {"zero_counter_energy", "pJ"},
    {"sram_read_energy", "pJ"},
    {"sram_write_energy", "pJ"},
    {"sram_bank_area", "um2"},
    {"scratchpad_read_energy", "pJ"},
    {"scratchpad_write_energy", "pJ"},
    {"scratchpads_area", "um2"},
    {"psum_read_energy", "pJ"},
    {"psum_write_energy", "pJ"},
    {"dram_bit_energy", "pJ"},
    {"dram_activation_energy", "nJ"},
    {"dram_static_power", "mW"},
}};

constexpr std::array<KeyInfo, kOuterCostKeys> kOuterKeys{{
    {"multiplier_energy", "pJ"},
    {"adder_energy", "pJ"},
    {"coordinate_energy", "pJ"},
    {"range_energy", "pJ"},
    {"search_energy", "pJ"},
    {"crossbar_energy", "pJ"},
    {"accumulator_read_energy", "pJ"},
    {"accumulator_write_energy", "pJ"},
    {"ram_read_energy", "pJ"},
    {"ram_write_energy", "pJ"},
    {"kernel_read_energy", "pJ"},
    {"index_read_energy", "pJ"},
    {"index_write_energy", "pJ"},
    {"window_read_energy", "pJ"},
}};

// Text of a file (or of yaml-cpp, which repeats what it read), safe inside one line of a message.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (text.size() > 60 ? "..." : "");
}
std::string in_quotes(std::string_view text) { return fmt::format("'{}'", one_line(text)); }

// One file: every error names it, the line and the key.
class TableReader {
 public:
  explicit TableReader(const std::string& file) : file_(file) {}

  std::string place(const YAML::Node& node) const {
    return node.Mark().line < 0 ? file_ : fmt::format("{}:{}", file_, node.Mark().line + 1);
  }
  [[noreturn]] void fail(const YAML::Node& node, std::string_view cause, std::string_view remedy) const {
    throw InputError(place(node), cause, remedy);
  }

  YAML::Node load(std::string_view yaml, std::string_view remedy) const {
    return load_yaml(yaml, file_, {"an energy table", remedy});
  }

  // Calls use(key, key node, value) for each entry of a map, each key once.
  template <typename Use>
  void each(const YAML::Node& map, std::string_view what, const Use& use) const {
    if (!map.IsMap())
      fail(map, fmt::format("{} is not a list of 'key: value' lines", what), "write key: value under it");
    std::vector<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) fail(entry.first, "a key is not a word", "write key: value");
      const std::string& key = entry.first.Scalar();
      if (std::ranges::find(seen, key) != seen.end()) {
        fail(entry.first, fmt::format("the key {} is there twice", in_quotes(key)), "remove one of them");
      }
      seen.push_back(key);
      use(key, entry.first, entry.second);
    }
  }

  std::string text(const YAML::Node& at, std::string_view key, const YAML::Node& node) const {
    if (!node.IsScalar() || node.Scalar().empty()) {
      fail(at, fmt::format("{} has no value", in_quotes(key)), "write it after the ':'");
    }
    if (node.Scalar().size() > kLongestText)
      fail(at, fmt::format("{} is too long", in_quotes(key)), "shorten it");
    return node.Scalar();
  }

  double number(const YAML::Node& at, std::string_view key, const YAML::Node& node) const {
    const std::string written = text(at, key, node);
    double value = 0;
    const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
    if (error != std::errc() || end != written.data() + written.size() || !std::isfinite(value)) {
      fail(at, fmt::format("{} is {}, not a finite number", in_quotes(key), in_quotes(written)),
           "write a number");
    }
    if (value < 0)
      fail(at, fmt::format("{} is negative ({})", in_quotes(key), written), "write a number from 0");
    return value;
  }

  Cost cost(const YAML::Node& at, const std::string& key, const YAML::Node& node,
            std::string_view unit) const {
    if (!node.IsMap()) {
      fail(at, fmt::format("{} has no value, unit, source and confidence", in_quotes(key)),
           "write the four under it");
    }
    Cost cost;
    std::optional<double> value;
    std::optional<Confidence> confidence;
    each(node, in_quotes(key),
         [&](const std::string& field, const YAML::Node& field_at, const YAML::Node& field_value) {
           const std::string full = key + "." + field;
           if (field == "value") {
             value = number(field_at, full, field_value);
           } else if (field == "unit") {
             cost.unit = text(field_at, full, field_value);
             if (cost.unit != unit) {
               fail(field_at,
                    fmt::format("{} is {}, it must be '{}'", in_quotes(full), in_quotes(cost.unit), unit),
                    fmt::format("give the value in {}", unit));
             }
           } else if (field == "source") {
             cost.source = text(field_at, full, field_value);
           } else if (field == "confidence") {
             const std::string letter = text(field_at, full, field_value);
             if (letter == "H") confidence = Confidence::kHigh;
             if (letter == "M") confidence = Confidence::kMedium;
             if (letter == "L") confidence = Confidence::kLow;
             if (!confidence) {
               fail(field_at, fmt::format("{} is {}", in_quotes(full), in_quotes(letter)), "write H, M or L");
             }
           } else {
             fail(field_at, fmt::format("unknown key {}", in_quotes(full)),
                  suggest(field, {"value", "unit", "source", "confidence"}));
           }
         });
    const auto missing = [&](std::string_view field) {
      fail(at, fmt::format("'{}.{}' is missing", key, field),
           fmt::format("add a line '{}: ...' under {}", field, key));
    };
    if (!value) missing("value");
    if (cost.unit.empty()) missing("unit");
    if (cost.source.empty()) missing("source");
    if (!confidence) missing("confidence");
    cost.value = *value;
    cost.confidence = *confidence;
    return cost;
  }

  // A section of costs, each of its keys once and no other.
  template <std::size_t kKeyCount>
  std::array<Cost, kKeyCount> costs(const YAML::Node& map, std::string_view section,
                                    const std::array<KeyInfo, kKeyCount>& keys) const {
    std::array<Cost, kKeyCount> all;
    std::array<bool, kKeyCount> given{};
    each(map, fmt::format("'{}'", section),
         [&](const std::string& component, const YAML::Node& at, const YAML::Node& value) {
           const auto known = std::ranges::find(keys, std::string_view(component), &KeyInfo::name);
           if (known == keys.end()) {
             std::vector<std::string> names;
             names.reserve(keys.size());
             for (const KeyInfo& info : keys) names.emplace_back(info.name);
             fail(at, fmt::format("unknown component {}", in_quotes(component)), suggest(component, names));
           }
           const auto index = static_cast<std::size_t>(known - keys.begin());
           all[index] = cost(at, component, value, known->unit);
           given[index] = true;
         });
    for (std::size_t i = 0; i < kKeyCount; ++i) need(given[i], fmt::format("{}.{}", section, keys[i].name));
    return all;
  }

  void need(bool there, std::string_view key) const {
    if (!there)
      throw InputError(file_, fmt::format("'{}' is missing", key), fmt::format("add a line '{}: ...'", key));
  }

 private:
  const std::string& file_;
};

const EmbeddedFile* find_built_in(const std::string& name) {
  for (const EmbeddedFile& file : embedded_energy_tables()) {
    if (file.name == name + ".yaml" && file.name != kNodeFile) return &file;
  }
  return nullptr;
}

}  // namespace

std::string_view cost_name(CostKey key) { return kKeys[static_cast<std::size_t>(key)].name; }
std::string_view cost_unit(CostKey key) { return kKeys[static_cast<std::size_t>(key)].unit; }
std::string_view cost_name(OuterCostKey key) { return kOuterKeys[static_cast<std::size_t>(key)].name; }
std::string_view cost_unit(OuterCostKey key) { return kOuterKeys[static_cast<std::size_t>(key)].unit; }

char confidence_letter(Confidence confidence) {
  return confidence == Confidence::kHigh ? 'H' : confidence == Confidence::kMedium ? 'M' : 'L';
}

CostTable CostTable::parse(std::string_view yaml, const std::string& file) {
  const TableReader reader(file);
  const YAML::Node root = reader.load(yaml, "start with 'name: NAME'");
  CostTable table;
  table.node_nm = 0;
  bool costs = false;
  reader.each(root, "the file", [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
    if (key == "name") {
      table.name = reader.text(at, key, value);
    } else if (key == "summary") {
      table.summary = reader.text(at, key, value);
    } else if (key == "node_nm") {
      table.node_nm = reader.number(at, key, value);
    } else if (key == "data_type") {
      table.data_type = reader.text(at, key, value);
      if (table.data_type != "fp32" && table.data_type != "bfloat16") {
        reader.fail(at, fmt::format("'data_type' is {}", in_quotes(table.data_type)),
                    "write fp32 or bfloat16");
      }
    } else if (key == "costs") {
      costs = true;
      table.costs = reader.costs(value, key, kKeys);
    } else if (key == "outer_product") {
      table.outer_product = reader.costs(value, key, kOuterKeys);
    } else {
      reader.fail(at, fmt::format("unknown key {}", in_quotes(key)),
                  suggest(key, {"name", "summary", "node_nm", "data_type", "costs", "outer_product"}));
    }
  });
  reader.need(!table.name.empty(), "name");
  reader.need(table.node_nm > 0, "node_nm");
  reader.need(!table.data_type.empty(), "data_type");
  reader.need(costs, "costs");
  return table;
}

std::vector<std::string> CostTable::built_in() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_energy_tables()) {
    if (file.name != kNodeFile) names.emplace_back(file.name.substr(0, file.name.rfind('.')));
  }
  std::ranges::sort(names);
  return names;
}

CostTable CostTable::open(const std::string& name_or_file, std::string_view origin) {
  if (const EmbeddedFile* file = find_built_in(name_or_file))
    return parse(file->bytes, std::string(file->name));
  std::error_code error;
  if (!std::filesystem::is_regular_file(name_or_file, error)) {
    throw InputError(origin,
                     fmt::format("{} is neither a built-in energy table nor a file", in_quotes(name_or_file)),
                     suggest(name_or_file, built_in()));
  }
  return parse(read_yaml_file(name_or_file), name_or_file);
}

CostTable CostTable::of_data_type(std::string_view data_type) {
  return open(fmt::format("65nm-{}", data_type), "energy table");
}

std::vector<NodeScale> NodeScale::parse_all(std::string_view yaml, const std::string& file) {
  const TableReader reader(file);
  const YAML::Node root = reader.load(yaml, "start with 'nodes:'");
  std::vector<NodeScale> scales;
  reader.each(
      root, "the file", [&](const std::string& top, const YAML::Node& top_at, const YAML::Node& nodes) {
        if (top != "nodes")
          reader.fail(top_at, fmt::format("unknown key {}", in_quotes(top)), "write 'nodes:'");
        reader.each(
            nodes, "'nodes'", [&](const std::string& name, const YAML::Node& at, const YAML::Node& factors) {
              NodeScale scale;
              const double node = reader.number(at, name, YAML::Node(name));
              scale.node_nm = static_cast<int>(node);
              int given = 0;
              reader.each(factors, in_quotes(name),
                          [&](const std::string& key, const YAML::Node& key_at, const YAML::Node& value) {
                            Cost* target = key == "logic_energy"  ? &scale.logic_energy
                                           : key == "logic_area"  ? &scale.logic_area
                                           : key == "delay"       ? &scale.delay
                                           : key == "sram_energy" ? &scale.sram_energy
                                           : key == "sram_area"   ? &scale.sram_area
                                                                  : nullptr;
                            if (target == nullptr) {
                              reader.fail(key_at, fmt::format("unknown key {}", in_quotes(key)),
                                          suggest(key, {"logic_energy", "logic_area", "delay", "sram_energy",
                                                        "sram_area"}));
                            }
                            *target = reader.cost(key_at, key, value, "ratio");
                            ++given;
                          });
              if (given != 5)
                reader.fail(at, fmt::format("node {} does not have all five factors", in_quotes(name)),
                            "add them");
              scales.push_back(std::move(scale));
            });
      });
  return scales;
}

namespace {
std::vector<NodeScale> built_in_scales() {
  for (const EmbeddedFile& file : embedded_energy_tables()) {
    if (file.name == kNodeFile) return NodeScale::parse_all(file.bytes, std::string(file.name));
  }
  return {};
}
}  // namespace

std::vector<int> NodeScale::known() {
  std::vector<int> nodes;
  for (const NodeScale& scale : built_in_scales()) nodes.push_back(scale.node_nm);
  return nodes;
}

NodeScale NodeScale::find(int node_nm, std::string_view origin) {
  for (NodeScale& scale : built_in_scales()) {
    if (scale.node_nm == node_nm) return scale;
  }
  throw InputError(origin, fmt::format("no factors for {} nm", node_nm),
                   fmt::format("known: {}", fmt::join(known(), ", ")));
}

CostTable scale_to_node(const CostTable& table, const NodeScale& node) {
  if (table.node_nm != 65) {
    throw InputError(
        "--node",
        fmt::format("the energy table '{}' is of {} nm; factors are from 65 nm", table.name, table.node_nm),
        "leave --node out, or take a 65 nm table");
  }
  CostTable scaled = table;
  scaled.node_nm = node.node_nm;
  const auto scale_one = [&](Cost& cost, const Cost& factor) {
    cost.value *= factor.value;
    cost.confidence = std::max(cost.confidence, factor.confidence);
    if (node.node_nm != 65) cost.source += fmt::format("; to {} nm: {}", node.node_nm, factor.source);
  };
  const auto scale = [&](const Cost& factor, std::initializer_list<CostKey> keys) {
    for (const CostKey key : keys) scale_one(scaled.costs[static_cast<std::size_t>(key)], factor);
  };
  using enum CostKey;
  scale(node.logic_energy,
        {kMacEnergy, kTransposerEnergy, kMuxInputEnergy, kSchedulerInputEnergy, kZeroCounterEnergy});
  scale(node.logic_area, {kMacArea, kTransposerArea, kMuxInputArea, kSchedulerInputArea});
  scale(node.sram_energy, {kSramReadEnergy, kSramWriteEnergy, kScratchpadReadEnergy, kScratchpadWriteEnergy,
                           kPsumReadEnergy, kPsumWriteEnergy});
  scale(node.sram_area, {kSramBankArea, kScratchpadsArea});
  if (scaled.outer_product) {
    for (std::size_t i = 0; i < kOuterCostKeys; ++i) {
      const bool logic = static_cast<OuterCostKey>(i) <= OuterCostKey::kCrossbarEnergy;
      scale_one((*scaled.outer_product)[i], logic ? node.logic_energy : node.sram_energy);
    }
  }
  return scaled;
}

}  // namespace lacuna
