#include "sim/catalog/choose_machines.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "base/error.hpp"

namespace lacuna {
namespace {

// Results are identified by the names of machines, so no two may be the same.
void add_machine(std::vector<Machine>& machines, Machine machine, const ChoiceWords& words,
                 const std::string& alternative) {
  const auto taken = [&] {
    return std::ranges::find(machines, machine.name, &Machine::name) != machines.end();
  };
  if (taken() && !alternative.empty()) machine.name += ":" + alternative;
  if (taken()) {
    throw InputError(alternative.empty() ? words.names : words.configs,
                     fmt::format("two machines are called '{}'", machine.name),
                     alternative.empty() ? "name each one once" : "give each file a line 'name: NAME'");
  }
  machines.push_back(std::move(machine));
}

constexpr std::string_view kBaselinePrefix = "baseline.", kMemory = "memory";

std::string shared_memory(std::span<const Machine> machines) {
  std::string shared;
  for (const Machine& machine : machines) {
    if (!machine.params.has(kMemory)) continue;
    const std::string& own = machine.params.text(kMemory);
    if (!shared.empty() && shared != own) return "";
    shared = own;
  }
  return shared;
}

}  // namespace

std::vector<Machine> choose_machines(const MachineChoice& choice, const ChoiceWords& words) {
  const ArchCatalog catalog;
  std::vector<std::string> names = choice.names;
  if (names.empty() && choice.configs.empty()) names = {catalog.default_name()};
  std::vector<Machine> machines;
  for (const std::string& name : names) add_machine(machines, catalog.find(name, words.names), words, "");
  for (const std::string& file : choice.configs) {
    add_machine(machines, catalog.load(file), words, std::filesystem::path(file).stem().string());
  }
  for (const std::string& setting : choice.settings) {
    if (!choice.baseline.empty() && setting.starts_with(kBaselinePrefix)) continue;
    apply_setting(machines, setting, fmt::format("{} {}", words.settings, setting));
  }
  return machines;
}

void follow_memory(Machine& baseline, std::string_view memory) {
  const std::vector<std::string> names = ArchCatalog().names();
  if (std::ranges::find(names, baseline.name) == names.end() || std::filesystem::exists(baseline.origin))
    return;
  if (memory.empty() || !baseline.params.has(kMemory) || !baseline.params.is_default(kMemory)) return;
  baseline.params.set(kMemory, memory, "baseline");
}

std::optional<Machine> choose_baseline(const MachineChoice& choice, const ChoiceWords& words,
                                       std::span<const Machine> machines) {
  if (choice.baseline.empty()) return std::nullopt;
  std::vector<Machine> baseline{ArchCatalog().find_or_load(choice.baseline, words.baseline)};
  follow_memory(baseline.front(), shared_memory(machines));
  for (const std::string& setting : choice.settings) {
    if (!setting.starts_with(kBaselinePrefix)) continue;
    apply_setting(baseline, setting.substr(kBaselinePrefix.size()),
                  fmt::format("{} {}", words.settings, setting));
  }
  return std::move(baseline.front());
}

}  // namespace lacuna
