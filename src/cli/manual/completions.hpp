// Completions for shells: scripts that complete commands, options and values.
#pragma once

#include <string>

#include "cli/manual/command_tree.hpp"

namespace lacuna::cli {

std::string bash_completion(const CommandTree& root);
std::string zsh_completion(const CommandTree& root);
std::string fish_completion(const CommandTree& root);

}  // namespace lacuna::cli
