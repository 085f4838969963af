#include "sweep/plan/design_space.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/text/parse_number.hpp"

namespace lacuna::sweep {
namespace {

// The parameter of `machine` that an axis of this name varies; empty if there is none.
std::string_view key_for(const Machine& machine, std::string_view name) {
  if (name == kEnergyTable || name == kNode) return name;
  const auto [owner, key] = split_name(name);
  if (!owner.empty() && owner != machine.name) return {};
  return machine.params.has(key) ? key : std::string_view();
}

}  // namespace

DesignSpace::DesignSpace(const Plan& plan) : plan_(plan) {
  for (const Machine& machine : plan.machines) {
    std::vector<bool>& of_machine = applies_.emplace_back();
    for (const PlanAxis& axis : plan.axes) {
      of_machine.push_back(
          std::ranges::any_of(axis.names, [&](const auto& name) { return !key_for(machine, name).empty(); }));
    }
  }
}

std::uint64_t DesignSpace::combinations() const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t sum = 0;
  for (const auto& of_machine : applies_) {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < plan_.axes.size(); ++i) {
      const std::uint64_t size = of_machine[i] ? plan_.axes[i].values.size() : 1;
      product = product > kMost / size ? kMost : product * size;
    }
    sum = sum > kMost - product ? kMost : sum + product;
  }
  return sum;
}

void DesignSpace::each_setting(
    const Choice& choice,
    const std::function<void(const PlanAxis&, std::string_view key, const std::string& value)>& use) const {
  for (std::size_t i = 0; i < plan_.axes.size(); ++i) {
    const PlanAxis& axis = plan_.axes[i];
    for (std::size_t j = 0; j < axis.names.size(); ++j) {
      const std::string_view key = key_for(plan_.machines[choice.machine], axis.names[j]);
      if (!key.empty()) use(axis, key, axis.values[choice.values[i]][j]);
    }
  }
}

std::string DesignSpace::planned(const Choice& choice, std::string_view key) const {
  std::string text;
  each_setting(choice, [&](const PlanAxis&, std::string_view name, const std::string& value) {
    if (name == key) text = value;
  });
  return text;
}

Value DesignSpace::value(const Choice& choice, const std::string& name) const {
  const Machine& machine = plan_.machines[choice.machine];
  if (name == "machine") return machine.name;
  if (const std::string text = planned(choice, name); !text.empty()) return value_of_text(text);
  for (const auto& [key, text] : machine.params.values()) {
    if (key == name) return value_of_text(text);
  }
  return {};
}

bool DesignSpace::allowed(const Choice& choice) const {
  const Machine& machine = plan_.machines[choice.machine];
  return std::ranges::all_of(plan_.conditions, [&](const Expression& condition) {
    std::vector<Value> values;
    for (const Expression::Name& name : condition.names()) {
      if (name.name != "machine" && name.name != kEnergyTable && name.name != kNode &&
          !machine.params.has(name.name)) {
        return true;
      }
      values.push_back(value(choice, name.name));
    }
    return condition.holds(values);
  });
}

Machine DesignSpace::machine(const Choice& choice) const {
  Machine machine = plan_.machines[choice.machine];
  each_setting(choice, [&](const PlanAxis& axis, std::string_view key, const std::string& value) {
    if (key != kEnergyTable && key != kNode) machine.params.set(key, value, axis.where);
  });
  return machine;
}

std::string DesignSpace::shared(std::string_view key) const {
  std::set<std::string> values;
  for (std::uint32_t m = 0; m < plan_.machines.size(); ++m) {
    const Machine& machine = plan_.machines[m];
    if (!machine.params.has(key)) continue;
    bool planned = false;
    for (std::size_t i = 0; i < plan_.axes.size(); ++i) {
      const PlanAxis& axis = plan_.axes[i];
      for (std::size_t n = 0; n < axis.names.size(); ++n) {
        if (key_for(machine, axis.names[n]) != key) continue;
        planned = true;
        for (const std::vector<std::string>& texts : axis.values) values.insert(texts[n]);
      }
    }
    if (planned) continue;
    for (const auto& [name, value] : machine.params.values()) {
      if (name == key) values.insert(value);
    }
  }
  return values.size() == 1 ? *values.begin() : "";
}

std::string DesignSpace::energy_table(const Choice& choice) const { return planned(choice, kEnergyTable); }

int DesignSpace::node(const Choice& choice) const {
  return parse_number<int>(planned(choice, kNode)).value_or(0);
}

void DesignSpace::for_each(const std::function<bool(const Choice&)>& use) const {
  const std::uint64_t all = combinations();
  if (all > Plan::kMostCombinations && !plan_.at_most) {
    throw InputError(plan_.file,
                     all == std::numeric_limits<std::uint64_t>::max()
                         ? std::string("the plan has more than 10^19 combinations")
                         : fmt::format("the plan has {} combinations", all),
                     fmt::format("{} can be looked at: vary less, add 'at_most: N' for the first N, or a "
                                 "'strategy' that searches",
                                 Plan::kMostCombinations));
  }
  std::uint64_t looked_at = 0;
  for (std::uint32_t m = 0; m < plan_.machines.size(); ++m) {
    Choice choice{m, std::vector<std::uint32_t>(plan_.axes.size(), 0)};
    for (bool more = true; more;) {
      if (++looked_at > Plan::kMostCombinations) return;
      if (allowed(choice) && !use(choice)) return;
      more = false;
      for (std::size_t i = plan_.axes.size(); i-- > 0 && !more;) {
        if (!applies_[m][i]) continue;
        more = ++choice.values[i] < plan_.axes[i].values.size();
        if (!more) choice.values[i] = 0;
      }
    }
  }
}

}  // namespace lacuna::sweep
