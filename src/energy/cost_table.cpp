#include "energy/cost_table.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "base/io/embedded_file.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "energy/cost_reader.hpp"

namespace lacuna {
namespace {

constexpr std::size_t kMostNotes = 16;

Scaling read_scaling(const YamlReader& reader, const YAML::Node& at, const std::string& key,
                     const YAML::Node& value) {
  const std::string name = reader.text(at, key, value);
  if (name == "logic") return Scaling::kLogic;
  if (name == "sram") return Scaling::kSram;
  if (name == "none") return Scaling::kNone;
  reader.fail(at, fmt::format("{} is {}", quote_name(key), quote_name(name)), "write logic, sram or none");
}

PartCosts read_part(const YamlReader& reader, const std::string& name, const YAML::Node& part_at,
                    const YAML::Node& part) {
  PartCosts costs{.name = name, .costs = {}};
  bool scaled = false;
  reader.each(part, quote_name(name),
              [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
                const std::string full = name + "." + key;
                if (key == "scales_as") {
                  costs.scaling = read_scaling(reader, at, full, value);
                  scaled = true;
                } else if (key == kAreaCost) {
                  costs.costs.emplace_back(key, read_cost(reader, at, full, value, {"um2", "mm2"}));
                } else if (key == kStaticCost) {
                  costs.costs.emplace_back(key, read_cost(reader, at, full, value, {"mW"}));
                } else {
                  costs.costs.emplace_back(key, read_cost(reader, at, full, value, {"pJ", "nJ"}));
                }
              });
  if (!scaled) {
    reader.fail(part_at, fmt::format("'{}.scales_as' is missing", name),
                "write logic, sram or none: which factors another node changes it by");
  }
  return costs;
}

std::string read_data_type(const YamlReader& reader, const YAML::Node& at, const YAML::Node& value) {
  std::string type = reader.text(at, "data_type", value);
  if (type != "fp32" && type != "bfloat16" && type != "mixed" && type != "fixed16") {
    reader.fail(at, fmt::format("'data_type' is {}", quote_name(type)),
                "write fp32, bfloat16, mixed or fixed16");
  }
  return type;
}

std::vector<std::string> read_notes(const YamlReader& reader, const YAML::Node& at, const YAML::Node& value) {
  if (!value.IsSequence() || value.size() > kMostNotes) {
    reader.fail(at, "'notes' is not a list of at most 16 sentences", "write each after a '- '");
  }
  std::vector<std::string> notes;
  for (const YAML::Node& note : value) notes.push_back(reader.text(note, "notes", note));
  return notes;
}

CostTable read_table(const YamlReader& reader, const YAML::Node& root) {
  CostTable table;
  reader.each(root, "the file", [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
    if (key == "name") {
      table.name = reader.text(at, key, value);
    } else if (key == "summary") {
      table.summary = reader.text(at, key, value);
    } else if (key == "node_nm") {
      table.node_nm = reader.number(at, key, value);
    } else if (key == "data_type") {
      table.data_type = read_data_type(reader, at, value);
    } else if (key == "notes") {
      table.notes = read_notes(reader, at, value);
    } else if (key == "parts") {
      reader.each(value, "'parts'",
                  [&](const std::string& part, const YAML::Node& part_at, const YAML::Node& of) {
                    table.parts.push_back(read_part(reader, part, part_at, of));
                  });
    } else {
      reader.fail(at, fmt::format("unknown key {}", quote_name(key)),
                  suggest(key, {"name", "summary", "node_nm", "data_type", "notes", "parts"}));
    }
  });
  need_key(reader, !table.name.empty(), "name");
  need_key(reader, table.node_nm > 0, "node_nm");
  need_key(reader, !table.data_type.empty(), "data_type");
  need_key(reader, !table.parts.empty(), "parts");
  return table;
}

const EmbeddedFile* find_built_in(const std::string& name) {
  for (const EmbeddedFile& file : embedded_energy_tables()) {
    if (file.stem() == name && file.name != kNodeScalingFile) return &file;
  }
  return nullptr;
}

}  // namespace

char confidence_letter(Confidence confidence) {
  return confidence == Confidence::kHigh ? 'H' : confidence == Confidence::kMedium ? 'M' : 'L';
}

double Cost::si() const {
  if (unit == "pJ") return value * 1e-12;
  if (unit == "nJ") return value * 1e-9;
  if (unit == "mW") return value * 1e-3;
  if (unit == "um2") return value * 1e-6;
  if (unit == "mm2" || unit == "ratio") return value;
  throw std::logic_error("no such unit: " + unit);
}

const PartCosts* CostTable::find(std::string_view part) const {
  const auto at = std::ranges::find(parts, part, &PartCosts::name);
  return at == parts.end() ? nullptr : &*at;
}

const Cost* CostTable::find(std::string_view part, std::string_view cost) const {
  const PartCosts* of_part = find(part);
  if (of_part == nullptr) return nullptr;
  for (const auto& [key, value] : of_part->costs) {
    if (key == cost) return &value;
  }
  return nullptr;
}

CostTable CostTable::parse(std::string_view yaml, const std::string& file) {
  const YamlReader reader(file);
  return reader.load(yaml, {"an energy table", "start with 'name: NAME'"},
                     [&](const YAML::Node& root) { return read_table(reader, root); });
}

std::vector<std::string> CostTable::built_in() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_energy_tables()) {
    if (file.name != kNodeScalingFile) names.emplace_back(file.stem());
  }
  std::ranges::sort(names);
  return names;
}

CostTable CostTable::open(const std::string& name_or_file, std::string_view origin) {
  if (const EmbeddedFile* file = find_built_in(name_or_file)) {
    return parse(file->bytes, std::string(file->name));
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(name_or_file, error)) {
    throw InputError(
        origin, fmt::format("{} is neither a built-in energy table nor a file", quote_name(name_or_file)),
        suggest(name_or_file, built_in()));
  }
  return parse(read_yaml_file(name_or_file), name_or_file);
}

CostTable CostTable::of_data_type(std::string_view data_type) {
  return open(fmt::format("65nm-{}", data_type), "energy table");
}

}  // namespace lacuna
