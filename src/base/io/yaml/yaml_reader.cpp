#include "base/io/yaml/yaml_reader.hpp"

#include <cmath>
#include <fmt/format.h>

#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna {

std::string YamlReader::place(const YAML::Node& at) const {
  const bool known = at.IsDefined() && at.Mark().line >= 0;
  if (!known) return file_ + part_;
  const std::string line = fmt::format("{}:{}", file_, at.Mark().line + 1);
  return (places_ == Places::kColumns ? fmt::format("{}:{}", line, at.Mark().column + 1) : line) + part_;
}

void YamlReader::fail(const YAML::Node& at, std::string_view cause, std::string_view remedy) const {
  throw InputError(place(at), cause, remedy);
}

void YamlReader::check_map(const YAML::Node& map, std::string_view what) const {
  if (!map.IsMap())
    fail(map, fmt::format("{} is not a list of 'key: value' lines", what), "write key: value under it");
}

const std::string& YamlReader::check_key(const YAML::Node& key, std::set<std::string>& seen) const {
  if (!key.IsScalar()) fail(key, "a key is not a word", "write key: value");
  const auto [at, added] = seen.insert(key.Scalar());
  if (!added)
    fail(key, fmt::format("the key {} is there twice", quote_name(key.Scalar())), "remove one of them");
  return *at;
}

std::string YamlReader::text(const YAML::Node& at, std::string_view key, const YAML::Node& value,
                             std::string_view remedy) const {
  if (!value.IsDefined() || !value.IsScalar() || value.Scalar().empty())
    fail(at, fmt::format("{} has no value", quote_name(key)), remedy);
  if (value.Scalar().size() > kLongestText)
    fail(at, fmt::format("{} is too long", quote_name(key)), "shorten it");
  return value.Scalar();
}

double YamlReader::number(const YAML::Node& at, std::string_view key, const YAML::Node& value) const {
  const std::string written = text(at, key, value);
  const auto number = parse_number<double>(written);
  if (!number || !std::isfinite(*number)) {
    fail(at, fmt::format("{} is {}, not a finite number", quote_name(key), quote_name(written)),
         "write a number");
  }
  if (*number < 0)
    fail(at, fmt::format("{} is negative ({})", quote_name(key), written), "write a number from 0");
  return *number;
}

}  // namespace lacuna
