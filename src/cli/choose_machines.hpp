// The machines that a command line names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/arch_catalog.hpp"

namespace lacuna::cli {

struct MachineChoice {
  std::vector<std::string> names;     // models and named configurations
  std::vector<std::string> configs;   // YAML files
  std::vector<std::string> settings;  // of --set
};

// In the order named, then those of the files; the default machine if there is none of either. Throws
// InputError: unknown names and keys (`origin`, "--arch", starts the message about a name), two machines of
// one name.
std::vector<Machine> choose_machines(const MachineChoice& choice, std::string_view origin);

}  // namespace lacuna::cli
