// lacuna help [COMMAND...]: the same as lacuna COMMAND... --help.
#include <memory>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"

namespace lacuna::cli {
namespace {

void print_help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  for (const std::string& word : words) {
    std::vector<std::string> names;
    const CLI::App* found = nullptr;
    for (const CLI::App* child : command->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(child->get_name());
      if (child->get_name() == word) found = child;
    }
    if (found == nullptr) {
      throw InputError(
          "help", fmt::format("unknown command '{}'", word),
          names.empty() ? fmt::format("'{}' has no commands of its own", path) : suggest(word, names));
    }
    command = found;
    path += " " + word;
  }
  // App::help() would show the command that was typed: this one.
  print_text(command->get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal));
}

}  // namespace

void add_help_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("help", "What a command does, its options and examples");
  const auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "A command (default: all of them in short)")->type_name("");
  add_examples(*command, {{"lacuna help train", "the same as lacuna train --help"},
                          {"lacuna help arch area", "a command of a command"}});
  command->callback([&app, words] { print_help(app, *words); });
}

}  // namespace lacuna::cli
