#include "train/graph/model_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna::train {

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

std::string ModelText::plain(const YAML::Node& at, std::string_view what) const {
  if (!at.IsDefined() || !at.IsScalar() || at.Scalar().empty() || at.Scalar().size() > 500)
    fail(at, fmt::format("'{}' is not a short text", what), fmt::format("write {}: TEXT", what));
  return at.Scalar();
}

std::string ModelText::value(const YAML::Node& at, std::string_view what, const Scope& scope) const {
  std::string text = plain(at, what);
  if (text[0] != '$') return text;
  const auto found = scope.values.find(text.substr(1));
  if (found != scope.values.end()) return found->second;
  fail(at, fmt::format("{} is not known here", quote_name(text)),
       suggest(text.substr(1), keys_of(scope.values)));
}

std::int64_t ModelText::number_of(const std::string& text, const YAML::Node& at, std::string_view what,
                                  std::int64_t low, std::int64_t high) const {
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < low || *number > high)
    fail(at, fmt::format("{} is {}", what, quote_name(text)),
         fmt::format("give a whole number from {} to {}", low, high));
  return *number;
}

void ModelText::read(const YAML::Node& at, std::string_view what, const Scope& scope, double& to, double low,
                     double high) const {
  const std::string text = value(at, what, scope);
  const auto number = parse_number<double>(text);
  if (!number || !(*number >= low && *number <= high))
    fail(at, fmt::format("{} is {}", what, quote_name(text)),
         fmt::format("give a number from {} to {}", low, high));
  to = *number;
}

void ModelText::read(const YAML::Node& at, std::string_view what, const Scope& scope, std::int64_t& to,
                     std::int64_t low, std::int64_t high) const {
  to = number_of(value(at, what, scope), at, what, low, high);
}

void ModelText::read(const YAML::Node& at, std::string_view what, const Scope& scope, bool& to) const {
  const std::string text = value(at, what, scope);
  to = text == "true" || text == "yes";
  if (!to && text != "false" && text != "no")
    fail(at, fmt::format("{} is {}", what, quote_name(text)), "give yes or no");
}

void ModelText::read(const YAML::Node& at, std::string_view what, const Scope& scope, Size2& to,
                     std::int64_t low) const {
  if (at.IsSequence() && at.size() != 2)
    fail(at, fmt::format("{} has {} numbers", what, at.size()), "write one, or [height, width]");
  read(at.IsSequence() ? at[0] : at, what, scope, to.h, low, 4096);
  read(at.IsSequence() ? at[1] : at, what, scope, to.w, low, 4096);
}

void ModelText::check_keys(const YAML::Node& map, const std::vector<std::string>& known,
                           std::string_view of) const {
  if (!map.IsMap()) return;
  each(map, of, [&](const std::string& key, const YAML::Node& at, const YAML::Node&) {
    if (std::ranges::find(known, key) == known.end())
      fail(at, fmt::format("{} has no key {}", of, quote_name(key)), suggest(key, known));
  });
}

}  // namespace lacuna::train
