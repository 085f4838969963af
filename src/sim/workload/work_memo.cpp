#include "sim/workload/work_memo.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lacuna {

std::string memo_key(const Params& params, const std::vector<ParamSpec>& irrelevant,
                     const std::vector<std::string>& also_irrelevant) {
  std::string key = params.owner();
  for (const auto& [name, value] : params.values()) {
    if (std::ranges::find(irrelevant, name, &ParamSpec::name) != irrelevant.end()) continue;
    if (std::ranges::find(also_irrelevant, name) != also_irrelevant.end()) continue;
    key += fmt::format(" {}={}", name, value);
  }
  return key;
}

}  // namespace lacuna
