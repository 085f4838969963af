// The commands of `lacuna`, one file each. A command declares its options (those that it shares with others
// are in cli/options.hpp) and sets a callback that calls a library and prints through
// cli/terminal/terminal.hpp. It throws InputError for a user error and leaves every exit to main(). A new
// command is a file commands/NAME_command.cpp, a line below and its name in kCommands.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.hpp"

namespace lacuna::cli {

void add_arch_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_cite_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_demo_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_help_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_reproduce_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_storage_command(CLI::App& app);
void add_sweep_command(CLI::App& app);
void add_synth_command(CLI::App& app);
void add_train_command(CLI::App& app);
void add_version_command(CLI::App& app);

struct NamedCommand {
  std::string_view name;
  void (*add)(CLI::App&);
};
inline constexpr NamedCommand kCommands[] = {
    // In the order of --help.
    {"demo", add_demo_command},           {"train", add_train_command},     {"inspect", add_inspect_command},
    {"simulate", add_simulate_command},   {"storage", add_storage_command}, {"sweep", add_sweep_command},
    {"reproduce", add_reproduce_command}, {"compare", add_compare_command}, {"arch", add_arch_command},
    {"synth", add_synth_command},         {"export", add_export_command},   {"bench", add_bench_command},
    {"cite", add_cite_command},           {"help", add_help_command},       {"version", add_version_command},
};

// A command with its options, which `run` gets.
template <typename Options>
std::pair<CLI::App&, Options&> add_command(CLI::App& app, const std::string& name, const std::string& help,
                                           void (*run)(const Options&)) {
  CLI::App* command = app.add_subcommand(name, help);
  const auto options = std::make_shared<Options>();
  command->callback([=] { run(*options); });
  return {*command, *options};
}

// The examples at the end of a command's --help: what to type, and what it does.
struct Example {
  std::string_view line;
  std::string_view meaning;
};
void add_examples(CLI::App& command, const std::vector<Example>& examples);

// The commit, the compiler and others, by name: what makes this program this one.
std::vector<std::pair<std::string, std::string>> build_facts();
// For --version and `lacuna version`: "lacuna 0.1.0" on the first line, which scripts may rely on, then one
// "name: value" per line.
std::string version_text();

// The commands below `app`.
std::vector<std::string> command_names(const CLI::App& app);

// Ends a command with its own exit code after it has printed everything (`compare`: 1 means "they differ").
[[noreturn]] void exit_with(int code);

// Adds best, pareto, effects and diff to `lacuna sweep`.
void add_sweep_answers(CLI::App& sweep);

}  // namespace lacuna::cli
