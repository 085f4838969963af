// Options that several commands have: each is declared here, once.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "cli/terminal/output.hpp"
#include "sim/catalog/choose_machines.hpp"
#include "trace/synthetic/zeros_file.hpp"

namespace lacuna::cli {

// Whole numbers as parse_number() reads them: no sign, no "1e3". CLI11 takes -1 and what is beyond 64 bits
// for unsigned numbers. The default limit leaves room for products with small numbers.
inline constexpr std::uint64_t kMostSteps = 1'000'000'000'000'000;
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high = kMostSteps);
// The name of a file to write. Without it, an empty one (a variable that is not set) is taken for none.
CLI::Validator not_empty();

// An option with a value; --help shows `type` in its place. Without "--" it is an argument.
template <typename T>
CLI::Option* add(CLI::App& command, const std::string& name, T& target, const std::string& type,
                 const std::string& help) {
  return command.add_option(name, target, help)->type_name(type);
}
// A whole number from `low` to `high`.
template <typename T>
CLI::Option* add_number(CLI::App& command, const std::string& name, T& target, std::uint64_t low,
                        std::uint64_t high, const std::string& help) {
  return add(command, name, target, "N", help)->check(whole_number(low, high));
}

// TRACE...
void add_trace_argument(CLI::App& command, std::vector<std::string>& traces);
// An option for a file of results, or '-'.
void add_output_option(CLI::App& command, const std::string& name, std::string& file,
                       const std::string& content);
// --json, --csv
void add_result_options(CLI::App& command, ResultFiles& files);
// --html
void add_html_option(CLI::App& command, std::string& file);
// --json, without a file: standard output
void add_json_flag(CLI::App& command, bool& json);
// --threads; 0 means all cores. `note` follows the help.
void add_threads_option(CLI::App& command, int& threads, std::string_view note = "");
// --seed
void add_seed_option(CLI::App& command, std::uint64_t& seed, const std::string& help);
// --zeros-file, --clustering
struct ZerosChoice {
  std::string file;
  std::string clustering = "uniform";

  // Throws InputError for a file that is no such table, and for a clustering without one.
  std::optional<ZerosTable> open() const;
  ZerosClustering clusters() const { return parse_zeros_clustering(clustering); }
};
void add_zeros_options(CLI::App& command, ZerosChoice& zeros, const std::string& layers);
// --config, --set
void add_machine_options(CLI::App& command, MachineChoice& machines);
// --baseline
void add_baseline_option(CLI::App& command, std::string& baseline);
// --energy-table, --node
void add_cost_options(CLI::App& command, std::string& table, int& node);

// An option that takes one of `words`.
CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& target,
                        const std::vector<std::string>& words, const std::string& help);
// An option that takes a list separated by commas.
template <typename T>
CLI::Option* add_list(CLI::App& command, const std::string& name, std::vector<T>& target,
                      const std::string& type, const std::string& help) {
  return add(command, name, target, type + ",...", help)->delimiter(',');
}

// The value that a word names; the message calls it "unknown NOUN". Throws InputError.
template <typename Values, typename Name>
auto parse_word(const char* option, const char* noun, const std::string& word, const Values& all,
                const Name& name) {
  std::vector<std::string> names;
  for (const auto& value : all) {
    if (name(value) == word) return value;
    names.emplace_back(name(value));
  }
  throw InputError(option, fmt::format("unknown {} {}", noun, quote_name(word)), suggest(word, names));
}

// An option that takes the name of one of `all`, parsed by parse_word().
template <typename Target, typename Values, typename Name>
CLI::Option* add_word(CLI::App& command, const char* option, Target& target, const std::string& type,
                      const char* noun, const Values& all, Name name, const std::string& help) {
  const auto take = [=, &target](const std::string& word) {
    target = parse_word(option, noun, word, all, name);
  };
  return command.add_option_function<std::string>(option, take, help)->type_name(type);
}

}  // namespace lacuna::cli
