#include "energy/components.hpp"

#include <algorithm>

namespace lacuna {

double Hardware::total(std::string_view name) const {
  const auto at = std::ranges::find(totals, name, &DesignTotal::name);
  return at == totals.end() ? 0 : at->value;
}

bool Hardware::is_powered(const Component& component, const Part& part) const {
  return static_power && component.group != ComponentGroup::kDram && part.units > 0;
}

const ByComponent::Value* ByComponent::find(std::string_view component) const {
  const auto at = std::ranges::find(values, component, &Value::name);
  return at == values.end() ? nullptr : &*at;
}

double ByComponent::of(std::string_view component) const {
  const Value* value = find(component);
  return value == nullptr ? 0 : value->value;
}

double ByComponent::total() const {
  double sum = 0;
  for (const Value& value : values) sum += value.value;
  return sum;
}

double ByComponent::group(ComponentGroup group) const {
  double sum = 0;
  for (const Value& value : values) {
    if (value.group == group) sum += value.value;
  }
  return sum;
}

ByComponent& ByComponent::operator+=(const ByComponent& other) {
  for (const Value& value : other.values) {
    const auto at = std::ranges::find(values, value.name, &Value::name);
    if (at == values.end()) {
      values.push_back(value);
    } else {
      at->value += value.value;
    }
  }
  return *this;
}

}  // namespace lacuna
