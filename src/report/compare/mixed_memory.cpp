#include "report/compare/mixed_memory.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace lacuna {

std::optional<bool> waits_for_memory(const RunResult& run) {
  const auto at = std::ranges::find(run.config, "memory", &ConfigValue::name);
  return at == run.config.end() ? std::nullopt : std::optional(at->value == "modelled");
}

std::string mixed_memory_warning(std::span<const RunResult> runs) {
  std::vector<std::string> waiting, ideal;
  for (const RunResult& run : runs) {
    const std::optional<bool> waits = waits_for_memory(run);
    if (!waits) continue;
    std::vector<std::string>& names = *waits ? waiting : ideal;
    if (std::ranges::find(names, run.arch) == names.end()) names.push_back(run.arch);
  }
  if (waiting.empty() || ideal.empty()) return {};
  return fmt::format(
      "\nwarning: {} {} for memory, {} {} not: their cycles do not compare ('--set memory=modelled' or "
      "'--set memory=ideal' treats all alike)\n",
      fmt::join(waiting, ", "), waiting.size() == 1 ? "waits" : "wait", fmt::join(ideal, ", "),
      ideal.size() == 1 ? "does" : "do");
}

}  // namespace lacuna
