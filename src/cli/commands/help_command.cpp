// lacuna help [COMMAND...]: the same as lacuna COMMAND... --help; and the same for man and for shells.
#include <algorithm>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "cli/commands.hpp"
#include "cli/manual/command_tree.hpp"
#include "cli/terminal/terminal.hpp"

namespace lacuna::cli {
namespace {

void print_help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  for (const std::string& word : words) {
    const std::vector<std::string> names = command_names(*command);
    if (std::ranges::find(names, word) == names.end()) {
      throw InputError("help", fmt::format("unknown command '{}'", word),
                       names.empty() ? fmt::format("'{}' has no subcommands", path) : suggest(word, names));
    }
    command = command->get_subcommand(word);
    path += " " + word;
  }
  // App::help() would show the command that was typed: this one.
  print_text(command->get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal));
}

struct HelpOptions {
  std::vector<std::string> words;
  bool man = false;
  std::string shell;
};

void run_help(const CLI::App& app, const HelpOptions& options) {
  if (options.man) {
    print_text(man_page(command_tree(app)));
  } else if (options.shell == "bash") {
    print_text(bash_completion(command_tree(app)));
  } else if (options.shell == "zsh") {
    print_text(zsh_completion(command_tree(app)));
  } else if (options.shell == "fish") {
    print_text(fish_completion(command_tree(app)));
  } else {
    print_help(app, options.words);
  }
}

}  // namespace

void add_help_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("help", "What a command does, its options and examples");
  const auto options = std::make_shared<HelpOptions>();
  add(*command, "COMMAND", options->words, "", "A command (default: all of them in short)");
  CLI::Option* man = command->add_flag("--man", options->man, "Print the man page lacuna(1)");
  add_choice(*command, "--completion", options->shell, {"bash", "zsh", "fish"},
             "Print the completion script of a shell")
      ->excludes(man);
  add_examples(*command, {{"lacuna help train", "the same as lacuna train --help"},
                          {"lacuna help arch area", "a command of a command"},
                          {"lacuna help --man | man -l -", "the manual of a program that is not installed"},
                          {"source <(lacuna help --completion bash)", "complete with Tab in this shell"}});
  command->callback([&app, options] { run_help(app, *options); });
}

}  // namespace lacuna::cli
