#include "energy/cost_reader.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

// The four fields of a cost as they are found, each at most once.
struct Fields {
  std::optional<double> value;
  std::string unit;
  std::string source;
  std::optional<Confidence> confidence;
};

Confidence read_confidence(const YamlReader& reader, const YAML::Node& at, const std::string& key,
                           const YAML::Node& node) {
  const std::string letter = reader.text(at, key, node);
  if (letter == "H") return Confidence::kHigh;
  if (letter == "M") return Confidence::kMedium;
  if (letter == "L") return Confidence::kLow;
  reader.fail(at, fmt::format("{} is {}", quote_name(key), quote_name(letter)), "write H, M or L");
}

}  // namespace

Cost read_cost(const YamlReader& reader, const YAML::Node& at, const std::string& key, const YAML::Node& node,
               std::initializer_list<std::string_view> units) {
  if (!node.IsMap()) {
    reader.fail(at, fmt::format("{} has no value, unit, source and confidence", quote_name(key)),
                "write the four under it");
  }
  Fields fields;
  reader.each(node, quote_name(key),
              [&](const std::string& field, const YAML::Node& field_at, const YAML::Node& value) {
                const std::string full = key + "." + field;
                if (field == "value") {
                  fields.value = reader.number(field_at, full, value);
                } else if (field == "unit") {
                  fields.unit = reader.text(field_at, full, value);
                  if (std::ranges::find(units, fields.unit) == units.end()) {
                    reader.fail(field_at,
                                fmt::format("{} is {}, it must be {}", quote_name(full),
                                            quote_name(fields.unit), fmt::join(units, " or ")),
                                fmt::format("give the value in {}", *units.begin()));
                  }
                } else if (field == "source") {
                  fields.source = reader.text(field_at, full, value);
                } else if (field == "confidence") {
                  fields.confidence = read_confidence(reader, field_at, full, value);
                } else {
                  reader.fail(field_at, fmt::format("unknown key {}", quote_name(full)),
                              suggest(field, {"value", "unit", "source", "confidence"}));
                }
              });
  const auto need = [&](bool there, std::string_view field) {
    if (there) return;
    reader.fail(at, fmt::format("'{}.{}' is missing", key, field),
                fmt::format("add a line '{}: ...' under {}", field, key));
  };
  need(fields.value.has_value(), "value");
  need(!fields.unit.empty(), "unit");
  need(!fields.source.empty(), "source");
  need(fields.confidence.has_value(), "confidence");
  return {*fields.value, fields.unit, fields.source, *fields.confidence};
}

void need_key(const YamlReader& reader, bool there, std::string_view key) {
  if (there) return;
  throw InputError(reader.file(), fmt::format("'{}' is missing", key),
                   fmt::format("add a line '{}: ...'", key));
}

}  // namespace lacuna
