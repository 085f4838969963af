// The machines that a command line, or a caller of the library, names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/catalog/arch_catalog.hpp"

namespace lacuna {

struct MachineChoice {
  std::vector<std::string> names;     // models and named configurations
  std::vector<std::string> configs;   // YAML files
  std::vector<std::string> settings;  // key=value, NAME.key=value
  // A name, or a YAML file: what all machines are compared with, with the settings baseline.key=value.
  // Empty: each with its own.
  std::string baseline = {};
};

// Names of the three parts of a choice in messages.
struct ChoiceWords {
  std::string_view names = "--arch";
  std::string_view configs = "--config";
  std::string_view settings = "--set";
  std::string_view baseline = "--baseline";
};

// In the order named, then those of the files; the default machine if there is none of either. Throws
// InputError: unknown names and keys, two machines of one name.
std::vector<Machine> choose_machines(const MachineChoice& choice, const ChoiceWords& words);
// Nothing if the choice names none. `machines`: those of the same choice. Throws as choose_machines().
std::optional<Machine> choose_baseline(const MachineChoice& choice, const ChoiceWords& words,
                                       std::span<const Machine> machines);

// A baseline that was taken by its name has ideal memory unless all machines wait for memory, as it then
// does. `memory`: theirs, empty if they differ. One from a file stays as it is.
void follow_memory(Machine& baseline, std::string_view memory);

}  // namespace lacuna
