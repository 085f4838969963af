#include "reproduce/paper_values.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "base/io/yaml/yaml_reader.hpp"

namespace lacuna::reproduce {
namespace {

constexpr YamlKind kKind{"a table of a paper's values",
                         "start with 'paper: NAME', 'citation: ...' and 'values:'"};

PaperValue read_value(const YamlReader& reader, const YAML::Node& at, const std::string& key,
                      const YAML::Node& node) {
  PaperValue value;
  const std::map<std::string, std::optional<double>*> numbers{
      {"value", &value.value}, {"at_least", &value.at_least}, {"at_most", &value.at_most}};
  const std::map<std::string, std::string*> texts{{"words", &value.words},     {"circular", &value.circular},
                                                  {"unit", &value.unit},       {"figure", &value.figure},
                                                  {"section", &value.section}, {"reading", &value.reading}};
  reader.each(node, fmt::format("'{}'", key),
              [&](const std::string& field, const YAML::Node& place, const YAML::Node& v) {
                if (const auto number = numbers.find(field); number != numbers.end()) {
                  *number->second = reader.number(place, field, v);
                } else if (const auto text = texts.find(field); text != texts.end()) {
                  *text->second = reader.text(place, field, v);
                } else {
                  reader.fail(
                      place, fmt::format("unknown field '{}' of '{}'", field, key),
                      "use value, at_least, at_most and words, and circular, unit, figure, section, reading");
                }
              });
  const bool bounds = value.at_least || value.at_most;
  if (value.value.has_value() == bounds)
    reader.fail(at, fmt::format("'{}' has {} of a value and bounds", key, bounds ? "both" : "none"),
                "give value, or at_least and at_most, which say what words mean");
  if (value.figure.empty() || value.section.empty() || value.reading.empty())
    reader.fail(at, fmt::format("'{}' does not say where it is from", key),
                "add figure, section and reading");
  return value;
}

}  // namespace

bool PaperValue::is_effect() const {
  constexpr double kSmallEffect = 0.15;
  return value && unit == "x" && *value != 1 && std::abs(*value - 1) <= kSmallEffect;
}

double PaperValue::difference(double ours) const {
  if (value) return is_effect() ? (ours - 1) / (*value - 1) - 1 : ours / *value - 1;
  if (at_least && !(ours >= *at_least)) return ours / *at_least - 1;
  if (at_most && !(ours <= *at_most)) return ours / *at_most - 1;
  return 0;
}

std::string PaperValue::text(int digits) const {
  if (value) return fmt::format("{:.{}f}", *value, digits);
  const std::string bounds = at_least && at_most
                                 ? fmt::format("{:.{}f} to {:.{}f}", *at_least, digits, *at_most, digits)
                             : at_least ? fmt::format(">= {:.{}f}", *at_least, digits)
                                        : fmt::format("<= {:.{}f}", *at_most, digits);
  return words.empty() ? bounds : fmt::format("{} ({})", words, bounds);
}

PaperTable PaperTable::open(const std::filesystem::path& file) {
  PaperTable table;
  table.file_ = file.string();
  const YamlReader reader(table.file_);
  reader.load(read_yaml_file(table.file_), kKind, [&](const YAML::Node& root) {
    reader.each(root, "the file", [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (key == "paper") {
        table.name_ = reader.text(at, key, value);
      } else if (key == "citation") {
        table.citation_ = reader.text(at, key, value);
      } else if (key == "values") {
        reader.each(value, "'values'",
                    [&](const std::string& name, const YAML::Node& place, const YAML::Node& v) {
                      table.values_[name] = read_value(reader, place, name, v);
                    });
      } else {
        reader.fail(at, fmt::format("unknown key '{}'", key), "use paper, citation and values");
      }
    });
    return 0;
  });
  return table;
}

const PaperValue& PaperTable::at(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end())
    throw InputError(file_, fmt::format("there is no value '{}'", key),
                     "restore the file from the repository");
  return found->second;
}

}  // namespace lacuna::reproduce
