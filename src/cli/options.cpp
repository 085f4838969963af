#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

#include "base/error.hpp"
#include "base/text/parse_number.hpp"
#include "energy/cost_table.hpp"

namespace lacuna::cli {

void add_trace_argument(CLI::App& command, std::vector<std::string>& traces) {
  command.add_option("TRACE", traces, "Traces: .safetensors, .safetensors.zst or a folder of .npy files")
      ->type_name("")
      ->required();
}

void add_output_option(CLI::App& command, const std::string& name, std::string& file,
                       const std::string& content) {
  command.add_option(name, file, fmt::format("Write {}; '-': to standard output, and no tables", content))
      ->check(not_empty())
      ->type_name("FILE|-");
}

void add_result_options(CLI::App& command, std::string& json, std::string& csv) {
  add_output_option(command, "--json", json, "results as JSON");
  add_output_option(command, "--csv", csv, "results as CSV");
}

void add_html_option(CLI::App& command, std::string& file) {
  command.add_option("--html", file, "Write a report with pictures: one page that opens in any browser")
      ->check(not_empty())
      ->type_name("FILE");
}

void add_json_flag(CLI::App& command, bool& json) { command.add_flag("--json", json, "Print JSON"); }

void add_threads_option(CLI::App& command, int& threads, std::string_view note) {
  command
      .add_option("--threads", threads,
                  fmt::format("Threads{}{}{}", threads == 0 ? " (default: all cores)" : ", 0 for all cores",
                              note.empty()   ? ""
                              : threads == 0 ? ". "
                                             : "; ",
                              note))
      ->check(whole_number(0, 4096))
      ->type_name("N")
      ->default_str(threads == 0 ? "" : std::to_string(threads));
}

void add_seed_option(CLI::App& command, std::uint64_t& seed, const std::string& help) {
  command.add_option("--seed", seed, help)
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
}

void add_machine_options(CLI::App& command, MachineChoice& machines) {
  command
      .add_option("--config", machines.configs,
                  "A machine described in YAML: 'arch: NAME' and its parameters")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      .add_option(
          "--set", machines.settings,
          "Change a parameter of every machine that has it; NAME.key=value of one ('lacuna arch show NAME')")
      ->allow_extra_args(false)
      ->type_name("key=value");
}

void add_cost_options(CLI::App& command, std::string& table, int& node) {
  command
      .add_option("--energy-table", table,
                  fmt::format("Cost table: {} or a YAML file (default: the one of the machine's data type)",
                              fmt::join(CostTable::built_in(), ", ")))
      ->type_name("NAME|FILE");
  command
      .add_option("--node", node,
                  "Scale logic and SRAM to another node: 65, 45, 32, 28, 20, 16, 14, 10 or 7 nm")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("NM");
}

CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& target,
                        const std::vector<std::string>& words, const std::string& help) {
  return command.add_option(name, target, help)
      ->check(CLI::IsMember(words).description(""))
      ->type_name(fmt::format("{}", fmt::join(words, "|")));
}

void add_moved_option(CLI::App& command, const std::string& name, const std::string& cause,
                      const std::string& remedy) {
  const auto refuse = [=, option = fmt::format("{} {}", command.get_name(), name)](
                          const std::vector<std::string>&) { throw InputError(option, cause, remedy); };
  command.add_option_function<std::vector<std::string>>(name, refuse)->expected(0, -1)->group("");
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return {[=](const std::string& text) {
            const auto value = parse_number<std::uint64_t>(text);
            const bool good = value && *value >= low && *value <= high;
            return good ? std::string() : fmt::format("give a whole number from {} to {}", low, high);
          },
          ""};
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return text.empty() ? std::string("the name is empty") : std::string(); },
      "");
}

}  // namespace lacuna::cli
