#include "sim/catalog/registry.hpp"

#include <algorithm>

namespace lacuna {

AcceleratorRegistry& AcceleratorRegistry::instance() {
  static AcceleratorRegistry registry;
  return registry;
}

void AcceleratorRegistry::add(AcceleratorModel model) {
  const auto at = std::ranges::lower_bound(models_, model.name, {}, &AcceleratorModel::name);
  models_.insert(at, std::move(model));
}

const AcceleratorModel* AcceleratorRegistry::find(std::string_view name) const {
  const auto at = std::ranges::find(models_, name, &AcceleratorModel::name);
  return at == models_.end() ? nullptr : &*at;
}

}  // namespace lacuna
