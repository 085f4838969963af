// The man page lacuna(1), in the macros of man(7).
#pragma once

#include <string>

#include "cli/manual/command_tree.hpp"

namespace lacuna::cli {

std::string man_page(const CommandTree& root);

}  // namespace lacuna::cli
