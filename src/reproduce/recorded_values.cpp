#include "reproduce/recorded_values.hpp"

#include <cmath>
#include <fmt/format.h>
#include <set>

#include "base/io/yaml/yaml_reader.hpp"

namespace lacuna::reproduce {
namespace {

constexpr YamlKind kRecordedKind{"a list of recorded numbers", "write it with 'lacuna reproduce --record'"};

std::string figure_of(const std::string& key) { return key.substr(0, key.find('/')); }

std::set<std::string> figures_of(const std::map<std::string, double>& values) {
  std::set<std::string> figures;
  for (const auto& [key, value] : values) figures.insert(figure_of(key));
  return figures;
}

bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

}  // namespace

RecordedValues RecordedValues::open(const std::filesystem::path& file, bool may_be_missing) {
  RecordedValues recorded;
  std::error_code error;
  if (may_be_missing && !std::filesystem::exists(file, error)) return recorded;
  const YamlReader reader(file.string());
  reader.load(read_yaml_file(file.string()), kRecordedKind, [&](const YAML::Node& root) {
    reader.each(root, "the file", [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      recorded.values_[key] = reader.number(at, key, value);
    });
    return 0;
  });
  return recorded;
}

std::optional<double> RecordedValues::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Moved> RecordedValues::compare(const RecordedValues& now) const {
  std::vector<Moved> moved;
  for (const auto& [key, value] : now.values_) {
    const std::optional<double> before = find(key);
    if (!before || !same(*before, value)) moved.push_back({key, before, value});
  }
  const std::set<std::string> figures = figures_of(now.values_);
  for (const auto& [key, value] : values_) {
    if (figures.contains(figure_of(key)) && !now.find(key)) moved.push_back({key, value, std::nullopt});
  }
  return moved;
}

RecordedValues RecordedValues::replaced_by(const RecordedValues& now) const {
  RecordedValues result = now;
  const std::set<std::string> figures = figures_of(now.values_);
  for (const auto& [key, value] : values_)
    if (!figures.contains(figure_of(key))) result.set(key, value);
  return result;
}

std::string RecordedValues::text() const {
  std::string text =
      "# What `lacuna reproduce` gave when these numbers were last accepted: FIGURE/TABLE/ROW/COLUMN. "
      "Written by --record;\n# without it the command exits with 1 if a number moved.\n";
  for (const auto& [key, value] : values_) text += fmt::format("\"{}\": {}\n", key, value);
  return text;
}

}  // namespace lacuna::reproduce
