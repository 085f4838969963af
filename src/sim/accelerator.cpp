#include "sim/accelerator.hpp"

#include <algorithm>

namespace lacuna {

std::vector<LayerPasses> Accelerator::plan(const Trace&, const SimOptions&) const { return {}; }

std::string Accelerator::remark(const RunResult&) const { return {}; }

std::string Accelerator::sharing_key() const { return memo_key(params(), {}); }

BaselineSpec baseline_sharing(std::string model, const Params& own, const std::vector<ParamSpec>& shared) {
  BaselineSpec spec{std::move(model), {}};
  for (const auto& [name, value] : own.values()) {
    const auto same = [&name = name](const ParamSpec& param) { return param.name == name; };
    if (std::ranges::any_of(shared, same) && !own.is_default(name)) spec.settings.emplace_back(name, value);
  }
  return spec;
}

}  // namespace lacuna
