#include "cli/commands.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text/parse_number.hpp"
#include "energy/cost_table.hpp"

namespace lacuna::cli {

void add_examples(CLI::App& command, const std::vector<Example>& examples) {
  std::size_t width = 0;
  for (const Example& example : examples) width = std::max(width, example.line.size());
  // Long lines get their meaning on a line of its own, so that a narrow terminal stays readable.
  const bool one_line = width <= 56;
  std::string text = "Examples:";
  for (const Example& example : examples) {
    text += one_line ? fmt::format("\n  {:<{}}  {}", example.line, width, example.meaning)
                     : fmt::format("\n  {}\n      {}", example.line, example.meaning);
  }
  command.footer(text);
}

void add_trace_argument(CLI::App& command, std::vector<std::string>& traces) {
  command.add_option("TRACE", traces, "Traces: .safetensors, .safetensors.zst or a folder of .npy files")
      ->type_name("")
      ->required();
}

void add_result_options(CLI::App& command, std::string& json, std::string& csv) {
  command.add_option("--json", json, "Write results as JSON; '-': to standard output, and no tables")
      ->check(not_empty())
      ->type_name("FILE|-");
  command.add_option("--csv", csv, "Write results as CSV; '-': to standard output, and no tables")
      ->check(not_empty())
      ->type_name("FILE|-");
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

void exit_with(int code) { throw CLI::RuntimeError(code); }

}  // namespace lacuna::cli
