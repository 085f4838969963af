#include "reproduce/paper_values.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/io/yaml/yaml_reader.hpp"

namespace lacuna::reproduce {
namespace {

constexpr YamlKind kKind{"a table of a paper's values",
                         "start with 'paper: NAME', 'citation: ...' and 'values:'"};

PaperValue read_value(const YamlReader& reader, const YAML::Node& at, const std::string& key,
                      const YAML::Node& node) {
  PaperValue value;
  int kinds = 0;
  reader.each(node, fmt::format("'{}'", key),
              [&](const std::string& field, const YAML::Node& place, const YAML::Node& v) {
                const auto number = [&](PaperValue::Kind kind) {
                  value.kind = kind;
                  value.number = reader.number(place, field, v);
                  ++kinds;
                };
                if (field == "value") return number(PaperValue::Kind::kValue);
                if (field == "at_least") return number(PaperValue::Kind::kAtLeast);
                if (field == "at_most") return number(PaperValue::Kind::kAtMost);
                if (field == "words") {
                  value.kind = PaperValue::Kind::kWords;
                  ++kinds;
                }
                std::string* target = field == "words"     ? &value.words
                                      : field == "unit"    ? &value.unit
                                      : field == "figure"  ? &value.figure
                                      : field == "section" ? &value.section
                                      : field == "reading" ? &value.reading
                                                           : nullptr;
                if (target == nullptr) {
                  reader.fail(place, fmt::format("unknown field '{}' of '{}'", field, key),
                              "use value, at_least, at_most or words, and unit, figure, section, reading");
                }
                *target = reader.text(place, field, v);
              });
  if (kinds != 1) {
    reader.fail(at,
                fmt::format("'{}' has {} of value, at_least, at_most and words", key,
                            kinds == 0 ? "none" : "several"),
                "give exactly one");
  }
  if (value.figure.empty() || value.section.empty() || value.reading.empty())
    reader.fail(at, fmt::format("'{}' does not say where it is from", key),
                "add figure, section and reading");
  return value;
}

}  // namespace

double PaperValue::difference(double ours) const {
  switch (kind) {
    case Kind::kValue:
      return ours / number - 1;
    case Kind::kAtLeast:
      return ours >= number ? 0 : ours / number - 1;
    case Kind::kAtMost:
      return ours <= number ? 0 : ours / number - 1;
    case Kind::kWords:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string PaperValue::text(int digits) const {
  switch (kind) {
    case Kind::kValue:
      return fmt::format("{:.{}f}", number, digits);
    case Kind::kAtLeast:
      return fmt::format(">= {:.{}f}", number, digits);
    case Kind::kAtMost:
      return fmt::format("<= {:.{}f}", number, digits);
    case Kind::kWords:
      break;
  }
  return words;
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
