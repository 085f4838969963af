#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "sweep/plan/plan_parts.hpp"

namespace lacuna::sweep {
namespace {

constexpr int kDeepestValue = 4;

void append_text(const YamlReader& yaml, const YAML::Node& at, const YAML::Node& node, int depth,
                 std::string& text) {
  if (node.IsScalar()) {
    text += node.Scalar();
  } else if (node.IsSequence() && depth < kDeepestValue) {
    text += '[';
    for (std::size_t i = 0; i < node.size() && text.size() <= YamlReader::kLongestText; ++i) {
      if (i > 0) text += ',';
      append_text(yaml, at, node[i], depth + 1, text);
    }
    text += ']';
  } else {
    yaml.fail(at, "a value is neither a word nor a list", "write words or numbers: [2, 4, 8]");
  }
  if (text.size() > YamlReader::kLongestText) yaml.fail(at, "a value is too long", "shorten it");
}

// {from: 2, to: 64, times: 2}. Whole numbers stay whole; values are counted by index, so that steps of 0.1 do
// not drift.
std::vector<PlanValue> read_range(const YamlReader& yaml, const std::string& key, const YAML::Node& at,
                                  const YAML::Node& map) {
  std::optional<double> from, to, step, times;
  const std::map<std::string, std::optional<double>*> targets{
      {"from", &from}, {"to", &to}, {"step", &step}, {"times", &times}};
  const std::string name = quote_name(key);
  yaml.each(map, fmt::format("the range of {}", name),
            [&](const std::string& end, const YAML::Node& end_at, const YAML::Node& value) {
              if (!targets.contains(end)) {
                yaml.fail(end_at, fmt::format("a range has no {}", quote_name(end)),
                          suggest(end, {"from", "to", "step", "times"}));
              }
              *targets.at(end) = yaml.number(end_at, end, value);
            });
  if (!from || !to) {
    yaml.fail(at, fmt::format("the range of {} has no 'from' or no 'to'", name),
              "write {from: 2, to: 16, times: 2} or {from: 1, to: 9, step: 2}");
  }
  if (step && times) yaml.fail(at, "a range has 'step' and 'times'", "keep one of them");
  if (!step && !times) step = 1;
  if (*to < *from) {
    yaml.fail(at, fmt::format("the range of {} is empty: it ends before it begins", name),
              "swap 'from' and 'to'");
  }
  if (step && !(*step > 0)) yaml.fail(at, "the step is 0", "write a number above 0");
  if (times && (!(*times > 1) || !(*from > 0))) {
    yaml.fail(at, "such a range never ends", "'times' must be above 1, and 'from' above 0");
  }

  constexpr double kSlack = 1e-9;  // the last value of 0.1 to 0.5 in steps of 0.1
  const std::string where = yaml.place(at);
  std::vector<PlanValue> all;
  double value = *from;
  for (std::uint64_t i = 0; value <= *to * (1 + kSlack); ++i) {
    if (all.size() == Plan::kMostValues) {
      throw InputError(where, fmt::format("the range of {} has more than {} values", name, Plan::kMostValues),
                       "take a larger step");
    }
    const bool whole = value == std::floor(value) && std::abs(value) < 0x1p53;
    all.push_back(
        {whole ? fmt::format("{}", static_cast<std::int64_t>(value)) : fmt::format("{:.12g}", value), where});
    const double next = times ? value * *times : *from + static_cast<double>(i + 1) * *step;
    if (!(next > value)) break;  // a step too small for the numbers it is added to
    value = next;
  }
  return all;
}

}  // namespace

std::vector<PlanValue> read_values(const YamlReader& yaml, const std::string& key, const YAML::Node& at,
                                   const YAML::Node& value, bool repeats) {
  if (value.IsMap()) return read_range(yaml, key, at, value);
  if (value.IsScalar()) return {{yaml.text(at, key, value), yaml.place(value)}};
  if (!value.IsSequence() || value.size() == 0) {
    yaml.fail(at, fmt::format("{} has no values", quote_name(key)), "write them after it: [2, 4, 8]");
  }
  if (value.size() > Plan::kMostValues) {
    yaml.fail(at, fmt::format("{} has more than {} values", quote_name(key), Plan::kMostValues),
              "leave some out");
  }
  std::vector<PlanValue> values;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < value.size(); ++i) {
    PlanValue one{{}, yaml.place(value[i])};
    append_text(yaml, value[i], value[i], 0, one.text);
    if (one.text.empty())
      yaml.fail(value[i], fmt::format("a value of {} is empty", quote_name(key)), "remove the comma");
    if (!seen.insert(one.text).second && !repeats) {
      yaml.fail(value[i], fmt::format("{} has the value {} twice", quote_name(key), quote_name(one.text)),
                "remove one");
    }
    values.push_back(std::move(one));
  }
  return values;
}

}  // namespace lacuna::sweep
