// The commands and options of the program as plain data, and what is written about them: the man page and the
// completions of shells. All of it comes from what the commands declare to CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lacuna::cli {

// Values that an option may take.
struct ValueHint {
  std::vector<std::string> words;  // choices, or names that are built into the program
  bool files = false;
  bool folders = false;  // folders only
  bool list = false;     // several, separated by commas
};

struct OptionTree {
  std::vector<std::string> names;  // "-h", "--help"; of a positional argument: what --help calls it
  std::string value;               // "FILE", "dense|sparse|auto"; empty for a flag
  std::string default_value;
  std::string help;
  bool required = false;
  bool repeated = false;
  ValueHint hint;
};

struct CommandTree {
  std::string name;
  std::string path;  // "lacuna arch area"
  std::string help;
  std::string footer;  // examples
  std::vector<OptionTree> options;
  std::vector<OptionTree> arguments;
  std::vector<CommandTree> commands;
};

CommandTree command_tree(const CLI::App& app);

// The command and all below it, in the order of --help.
std::vector<const CommandTree*> all_commands(const CommandTree& root);

std::string bash_completion(const CommandTree& root);
std::string zsh_completion(const CommandTree& root);
std::string fish_completion(const CommandTree& root);

std::string man_page(const CommandTree& root);

}  // namespace lacuna::cli
