// The commands of `lacuna`, one file each. A command declares its options and sets a callback that does the
// work: it prints through cli/terminal/terminal.hpp, throws InputError for anything the user can put right,
// and leaves every exit to main(). A new command is a file NAME_command.cpp here, a line below and its name
// in kCommands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::cli {

void add_arch_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_demo_command(CLI::App& app);
void add_help_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_reproduce_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_storage_command(CLI::App& app);
void add_sweep_command(CLI::App& app);
void add_synth_command(CLI::App& app);
void add_train_command(CLI::App& app);
void add_version_command(CLI::App& app);

using AddCommand = void (*)(CLI::App&);
inline constexpr AddCommand kCommands[] = {
    // In the order of --help.
    add_demo_command,  add_train_command,     add_inspect_command, add_simulate_command, add_storage_command,
    add_sweep_command, add_reproduce_command, add_compare_command, add_arch_command,     add_synth_command,
    add_bench_command, add_help_command,      add_version_command,
};

// The examples at the end of a command's --help: what to type, and what it does.
struct Example {
  std::string_view line;
  std::string_view meaning;
};
void add_examples(CLI::App& command, const std::vector<Example>& examples);

// The argument TRACE... of commands that read traces, and --json and --csv of those that write results of
// them.
void add_trace_argument(CLI::App& command, std::vector<std::string>& traces);
void add_result_options(CLI::App& command, std::string& json, std::string& csv);

// For --version and `lacuna version`: "lacuna 0.1.0" on the first line, which scripts may rely on, then one
// "name: value" per line.
std::string version_text();

// The options --energy-table and --node, for commands that need costs.
void add_cost_options(CLI::App& command, std::string& table, int& node);

// As parse_number() reads it: no sign, no "1e3". CLI11 takes -1 and what is beyond 64 bits for unsigned
// numbers. Numbers of steps and images may be multiplied by what is small.
inline constexpr std::uint64_t kMostSteps = 1'000'000'000'000'000;
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high = kMostSteps);
// The name of a file to write. Without it, an empty one (a variable that is not set) is taken for none.
CLI::Validator not_empty();

// Ends a command with an exit code of its own after it has printed everything (`compare`: 1 means "they
// differ").
[[noreturn]] void exit_with(int code);

}  // namespace lacuna::cli
