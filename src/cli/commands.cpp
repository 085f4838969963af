#include "cli/commands.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lacuna::cli {

void add_examples(CLI::App& command, const std::vector<Example>& examples) {
  std::size_t width = 0;
  for (const Example& example : examples) width = std::max(width, example.line.size());
  // Long examples get their meaning on a separate line, so that a narrow terminal stays readable.
  const bool one_line = width <= 56;
  std::string text = "Examples:";
  for (const Example& example : examples) {
    text += one_line ? fmt::format("\n  {:<{}}  {}", example.line, width, example.meaning)
                     : fmt::format("\n  {}\n      {}", example.line, example.meaning);
  }
  command.footer(text);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

void exit_with(int code) { throw CLI::RuntimeError(code); }

}  // namespace lacuna::cli
