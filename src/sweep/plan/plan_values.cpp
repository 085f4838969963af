#include "sweep/plan/plan_values.hpp"

#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "sweep/plan/plan.hpp"

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

class RangeReader {
 public:
  RangeReader(const YamlReader& yaml, const std::string& key) : yaml_(yaml), key_(key) {}

  std::vector<PlanValue> read(const YAML::Node& at, const YAML::Node& map) {
    yaml_.each(map, fmt::format("the range of {}", quote_name(key_)),
               [&](const std::string& name, const YAML::Node& name_at, const YAML::Node& value) {
                 take(name, name_at, value);
               });
    if (!from_ || !to_)
      yaml_.fail(at, fmt::format("the range of {} has no 'from' or no 'to'", quote_name(key_)),
                 "write {from: 2, to: 16, times: 2} or {from: 1, to: 9, step: 2}");
    if (step_ && times_) yaml_.fail(at, "a range has 'step' and 'times'", "keep one of them");
    if (!step_ && !times_) step_ = 1;
    if (*to_ < *from_)
      yaml_.fail(at, fmt::format("the range of {} is empty: it ends before it begins", quote_name(key_)),
                 "swap 'from' and 'to'");
    if (step_ && !(*step_ > 0)) yaml_.fail(at, "the step is 0", "write a number above 0");
    if (times_ && (!(*times_ > 1) || !(*from_ > 0))) {
      yaml_.fail(at, "such a range never ends", "'times' must be above 1, and 'from' above 0");
    }
    return values(yaml_.place(at));
  }

 private:
  void take(const std::string& name, const YAML::Node& at, const YAML::Node& value) {
    std::optional<double>* const target = name == "from"    ? &from_
                                          : name == "to"    ? &to_
                                          : name == "step"  ? &step_
                                          : name == "times" ? &times_
                                                            : nullptr;
    if (target == nullptr) {
      yaml_.fail(at, fmt::format("a range has no {}", quote_name(name)),
                 suggest(name, {"from", "to", "step", "times"}));
    }
    *target = yaml_.number(at, name, value);
  }

  // Whole numbers stay whole. Counted by index, so that steps of 0.1 do not drift.
  std::vector<PlanValue> values(const std::string& where) const {
    constexpr double kSlack = 1e-9;  // the last value of 0.1 to 0.5 in steps of 0.1
    std::vector<PlanValue> all;
    double value = *from_;
    for (std::uint64_t i = 0; value <= *to_ * (1 + kSlack); ++i) {
      if (all.size() == Plan::kMostValues) {
        throw InputError(
            where,
            fmt::format("the range of {} has more than {} values", quote_name(key_), Plan::kMostValues),
            "take a larger step");
      }
      const bool whole = value == std::floor(value) && std::abs(value) < 0x1p53;
      all.push_back(
          {whole ? fmt::format("{}", static_cast<std::int64_t>(value)) : fmt::format("{:.12g}", value),
           where});
      const double next = times_ ? value * *times_ : *from_ + static_cast<double>(i + 1) * *step_;
      if (!(next > value)) break;  // a step too small for the numbers it is added to
      value = next;
    }
    return all;
  }

  const YamlReader& yaml_;
  const std::string& key_;
  std::optional<double> from_, to_, step_, times_;
};

}  // namespace

std::vector<PlanValue> read_values(const YamlReader& yaml, const std::string& key, const YAML::Node& at,
                                   const YAML::Node& value, bool repeats) {
  if (value.IsMap()) return RangeReader(yaml, key).read(at, value);
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
