#include "base/params.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"

namespace lacuna {
namespace {

std::optional<bool> parse_flag(std::string_view text) {
  if (text == "on" || text == "true" || text == "yes" || text == "1") return true;
  if (text == "off" || text == "false" || text == "no" || text == "0") return false;
  return std::nullopt;
}

// The canonical spelling of an allowed value, or nothing if it is not allowed.
std::optional<std::string> canonical(const ParamSpec& spec, std::string_view text) {
  switch (spec.kind) {
    case ParamSpec::Kind::kInteger: {
      const auto value = parse_number<std::int64_t>(text);
      if (!value || static_cast<double>(*value) < spec.min || static_cast<double>(*value) > spec.max)
        return {};
      return fmt::format("{}", *value);
    }
    case ParamSpec::Kind::kNumber: {
      const auto value = parse_number<double>(text);
      if (!value || !std::isfinite(*value) || *value < spec.min || *value > spec.max) return {};
      return fmt::format("{}", *value);
    }
    case ParamSpec::Kind::kFlag: {
      const auto value = parse_flag(text);
      if (!value) return {};
      return *value ? "on" : "off";
    }
    case ParamSpec::Kind::kText:
      if (!spec.choices.empty() && std::ranges::find(spec.choices, text) == spec.choices.end()) return {};
      return std::string(text);
  }
  return {};
}

}  // namespace

ParamSpec ParamSpec::integer(std::string name, std::int64_t value, std::int64_t min, std::int64_t max,
                             std::string unit, std::string help, std::string citation) {
  return {std::move(name),
          Kind::kInteger,
          std::move(unit),
          fmt::format("{}", value),
          static_cast<double>(min),
          static_cast<double>(max),
          {},
          std::move(help),
          std::move(citation)};
}

ParamSpec ParamSpec::number(std::string name, double value, double min, double max, std::string unit,
                            std::string help, std::string citation) {
  return {std::move(name), Kind::kNumber,      std::move(unit), fmt::format("{}", value), min, max, {},
          std::move(help), std::move(citation)};
}

ParamSpec ParamSpec::flag(std::string name, bool value, std::string help, std::string citation) {
  return {std::move(name), Kind::kFlag,        "", value ? "on" : "off", 0, 0, {},
          std::move(help), std::move(citation)};
}

ParamSpec ParamSpec::choice(std::string name, std::string value, std::vector<std::string> choices,
                            std::string help, std::string citation) {
  return {std::move(name), Kind::kText,        "", std::move(value), 0, 0, std::move(choices),
          std::move(help), std::move(citation)};
}

ParamSpec ParamSpec::text(std::string name, std::string value, std::string help, std::string citation) {
  return {std::move(name), Kind::kText, "", std::move(value), 0, 0, {}, std::move(help), std::move(citation)};
}

std::string ParamSpec::allowed() const {
  switch (kind) {
    case Kind::kInteger:
    case Kind::kNumber:
      return fmt::format("{}..{}", min, max);
    case Kind::kFlag:
      return "on | off";
    case Kind::kText:
      return choices.empty() ? "text" : fmt::format("{}", fmt::join(choices, " | "));
  }
  return {};
}

Params::Params(std::string owner, std::vector<ParamSpec> specs)
    : owner_(std::move(owner)), specs_(std::move(specs)) {
  values_.reserve(specs_.size());
  for (const ParamSpec& spec : specs_) {
    const auto value = canonical(spec, spec.default_value);
    assert(value && "a default must itself be allowed");
    values_.push_back(value.value_or(spec.default_value));
  }
}

std::size_t Params::find(std::string_view key) const {
  const auto at = std::ranges::find(specs_, key, &ParamSpec::name);
  return static_cast<std::size_t>(at - specs_.begin());
}

void Params::set(std::string_view key, std::string_view value, std::string_view origin) {
  const std::size_t at = find(key);
  if (at == specs_.size()) {
    std::vector<std::string> names;
    for (const ParamSpec& spec : specs_) names.push_back(spec.name);
    throw InputError(origin, fmt::format("unknown key '{}' for {}", key, owner_), suggest(key, names));
  }
  const ParamSpec& spec = specs_[at];
  auto accepted = canonical(spec, value);
  if (!accepted) {
    std::string near = nearest_name(value, spec.choices);
    if (!near.empty()) near = fmt::format(" (did you mean '{}'?)", near);
    throw InputError(
        origin, fmt::format("'{}' is not a value for '{}' of {}", value, key, owner_),
        fmt::format("allowed: {}{}{}{}", spec.allowed(), spec.unit.empty() ? "" : " ", spec.unit, near));
  }
  values_[at] = std::move(*accepted);
}

const std::string& Params::value(std::string_view key, ParamSpec::Kind kind) const {
  const std::size_t at = find(key);
  assert(at < specs_.size() && specs_[at].kind == kind && "the code asks only for what it declared");
  (void)kind;
  return values_.at(at);
}

std::int64_t Params::integer(std::string_view key) const {
  return *parse_number<std::int64_t>(value(key, ParamSpec::Kind::kInteger));
}
double Params::number(std::string_view key) const {
  return *parse_number<double>(value(key, ParamSpec::Kind::kNumber));
}
bool Params::flag(std::string_view key) const { return value(key, ParamSpec::Kind::kFlag) == "on"; }
const std::string& Params::text(std::string_view key) const { return value(key, ParamSpec::Kind::kText); }

bool Params::has(std::string_view key) const { return find(key) < specs_.size(); }

std::vector<std::pair<std::string, std::string>> Params::values() const {
  std::vector<std::pair<std::string, std::string>> all;
  all.reserve(specs_.size());
  for (std::size_t i = 0; i < specs_.size(); ++i) all.emplace_back(specs_[i].name, values_[i]);
  return all;
}

bool Params::is_default(std::string_view key) const {
  const std::size_t at = find(key);
  return at < specs_.size() && values_[at] == canonical(specs_[at], specs_[at].default_value);
}

std::pair<std::string, std::string> split_assignment(std::string_view text, std::string_view origin) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError(origin, fmt::format("'{}' is not an assignment", text),
                     "write key=value, for example rows=8");
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace lacuna
