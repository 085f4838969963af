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

constexpr std::string_view kBaselinePrefix = "baseline.";

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

std::optional<Machine> choose_baseline(const MachineChoice& choice, const ChoiceWords& words) {
  if (choice.baseline.empty()) return std::nullopt;
  std::vector<Machine> baseline{ArchCatalog().find_or_load(choice.baseline, words.baseline)};
  for (const std::string& setting : choice.settings) {
    if (!setting.starts_with(kBaselinePrefix)) continue;
    apply_setting(baseline, setting.substr(kBaselinePrefix.size()),
                  fmt::format("{} {}", words.settings, setting));
  }
  return std::move(baseline.front());
}

}  // namespace lacuna
