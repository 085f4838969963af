#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

#include "base/text/csv.hpp"
#include "base/text/parse_number.hpp"
#include "energy/cost_table.hpp"

namespace lacuna::cli {

void add_trace_argument(CLI::App& command, std::vector<std::string>& traces) {
  add(command, "TRACE", traces, "", "Traces: .safetensors, .safetensors.zst or a folder of .npy files")
      ->required();
}

void add_output_option(CLI::App& command, const std::string& name, std::string& file,
                       const std::string& content) {
  add(command, name, file, "FILE|-", fmt::format("Write {}; '-': to standard output, and no tables", content))
      ->check(not_empty());
}

void add_result_options(CLI::App& command, ResultFiles& files) {
  add_output_option(command, "--json", files.json, "results as JSON");
  add_output_option(command, "--csv", files.csv, "results as CSV");
  command.add_flag_callback(
      "--csv-raw", keep_csv_formulas,
      "Keep text cells that begin with = + - or @ as they are; without it they get a ' in front, so that no "
      "spreadsheet runs them");
}

void add_html_option(CLI::App& command, std::string& file) {
  add(command, "--html", file, "FILE", "Write a report with pictures: one page that opens in any browser")
      ->check(not_empty());
}

void add_json_flag(CLI::App& command, bool& json) { command.add_flag("--json", json, "Print JSON"); }

void add_threads_option(CLI::App& command, int& threads, std::string_view note) {
  add_number(command, "--threads", threads, 0, 4096,
             fmt::format("Threads{}{}{}", threads == 0 ? " (default: all cores)" : ", 0 for all cores",
                         note.empty()   ? ""
                         : threads == 0 ? ". "
                                        : "; ",
                         note))
      ->default_str(threads == 0 ? "" : std::to_string(threads));
}

void add_seed_option(CLI::App& command, std::uint64_t& seed, const std::string& help) {
  add_number(command, "--seed", seed, 0, std::numeric_limits<std::uint64_t>::max(), help)
      ->capture_default_str();
}

std::optional<ZerosTable> ZerosChoice::open() const {
  if (!file.empty()) return ZerosTable::open(file);
  if (clustering != "uniform")
    throw InputError("--clustering", "it says how the zeros of a table cluster", "add --zeros-file");
  return std::nullopt;
}

void add_zeros_options(CLI::App& command, ZerosChoice& zeros, const std::string& layers) {
  add(command, "--zeros-file", zeros.file, "CSV",
      fmt::format(
          "Draw the zeros of {} from a table 'layer,A,W,G': shares from 0 to 1, channel:SHARE, dense, "
          "zero, or recorded",
          layers))
      ->check(not_empty());
  add_choice(
      command, "--clustering", zeros.clustering, kZerosClusterings,
      "How the zeros of the table's shares cluster: uniform (independent), channel, or measured on the "
      "trace, tensor by tensor")
      ->capture_default_str();
}

void add_machine_options(CLI::App& command, MachineChoice& machines) {
  add(command, "--config", machines.configs, "FILE",
      "A machine described in YAML: 'arch: NAME' or 'base: FILE.yaml', and its parameters")
      ->allow_extra_args(false);
  add(command, "--set", machines.settings, "key=value",
      "Change a parameter of every machine that has it; NAME.key=value of one ('lacuna arch show NAME')")
      ->allow_extra_args(false);
}

void add_baseline_option(CLI::App& command, std::string& baseline) {
  add(command, "--baseline", baseline, "NAME|FILE",
      "Machine that all are compared with, by name or described in YAML; --set baseline.key=value changes it "
      "(default: each with its own)");
}

void add_cost_options(CLI::App& command, std::string& table, int& node) {
  add(command, "--energy-table", table, "NAME|FILE",
      fmt::format("Cost table: {} or a YAML file (default: the one of the machine's data type)",
                  fmt::join(CostTable::built_in(), ", ")));
  add(command, "--node", node, "NM",
      "Scale logic and SRAM to another node: 65, 45, 32, 28, 20, 16, 14, 10 or 7 nm")
      ->check(CLI::Range(1, 1000).description(""));
}

CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& target,
                        const std::vector<std::string>& words, const std::string& help) {
  return add(command, name, target, fmt::format("{}", fmt::join(words, "|")), help)
      ->check(CLI::IsMember(words).description(""));
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
