#include "cli/manual/command_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>

#include "bench/inputs/layer_list.hpp"
#include "energy/cost_table.hpp"
#include "kernels/conv.hpp"
#include "sim/catalog/arch_catalog.hpp"
#include "tensor/operation.hpp"
#if !defined(LACUNA_WITHOUT_ONEDNN)
#include "train/graph/model_file.hpp"
#endif

namespace lacuna::cli {
namespace {

std::vector<std::string> split_words(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// NAME, FILE, N: stands for a value, is not one.
bool is_placeholder(const std::string& word) {
  return std::ranges::none_of(word, [](unsigned char c) { return std::islower(c) != 0; });
}

// Names that are built into the program, by the option that takes them.
std::vector<std::string> built_in_names(const std::string& command, const std::string& option) {
  if (option == "--arch" || (command.starts_with("lacuna arch ") && option == "NAME"))
    return ArchCatalog().names();
  if (option == "--energy-table") return CostTable::built_in();
  if (option == "--shapes") return bench::shape_names();
  std::vector<std::string> names;
  if (option == "--impl") {
    for (const kernels::ImplDescription& one : kernels::describe_impls()) names.emplace_back(one.impl.name);
  } else if (option == "--op") {
    for (const Operation op : kOperations) names.emplace_back(operation_name(op));
#if !defined(LACUNA_WITHOUT_ONEDNN)
  } else if (command == "lacuna train" && option == "--model") {
    for (const train::ModelSummary& model : train::built_in_models()) names.push_back(model.name);
#endif
  } else if (command == "lacuna train" && option == "--data") {
    names = {"shapes", "cifar10:", "cifar100:", "mnist:", "folder:"};
  }
  return names;
}

ValueHint read_hint(const CLI::Option& from, const std::string& command, const OptionTree& option) {
  ValueHint hint;
  hint.words = built_in_names(command, option.names.back());
  hint.list = from.get_delimiter() == ',';
  std::string value = option.value;
  if (value.ends_with(",...")) value.resize(value.size() - 4);
  for (const std::string& word : split_words(value, '|')) {
    if (word == "FILE" || word == "TRACE") hint.files = true;
    if (word == "DIR" || word == "[DIR]") hint.folders = true;
    const bool choice = !is_placeholder(word) && word.find_first_of("=:, ") == std::string::npos;
    if (choice || word == "-") hint.words.push_back(word);
  }
  // Arguments that are named after what they are.
  static constexpr std::array<std::string_view, 3> kFiles = {"TRACE", "A.json", "B.json"};
  if (from.get_positional())
    hint.files = hint.files || std::ranges::find(kFiles, option.names.back()) != kFiles.end();
  return hint;
}

OptionTree read_option(const CLI::Option& from, const std::string& command) {
  OptionTree option;
  for (const std::string& name : from.get_snames()) option.names.push_back("-" + name);
  for (const std::string& name : from.get_lnames()) option.names.push_back("--" + name);
  const bool positional = option.names.empty();
  if (positional) option.names.push_back(from.get_name(true));
  if (positional || from.get_type_size() != 0) option.value = from.get_type_name();
  option.help = from.get_description();
  option.required = from.get_required();
  option.repeated = from.get_expected_max() > 1;
  option.default_value = from.get_default_str();
  // A list: "[1,2]".
  if (option.default_value.starts_with('[') && option.default_value.ends_with(']'))
    option.default_value = option.default_value.substr(1, option.default_value.size() - 2);
  option.hint = read_hint(from, command, option);
  return option;
}

CommandTree read_command(const CLI::App& app, const std::string& path) {
  CommandTree command;
  command.name = app.get_name();
  command.path = path;
  command.help = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->nonpositional() ? command.options : command.arguments).push_back(read_option(*option, path));
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!child->get_group().empty())
      command.commands.push_back(read_command(*child, fmt::format("{} {}", path, child->get_name())));
  }
  if (path == "lacuna help" && !command.arguments.empty()) {
    for (const CLI::App* sibling : app.get_parent()->get_subcommands([](const CLI::App*) { return true; }))
      command.arguments.front().hint.words.push_back(sibling->get_name());
  }
  return command;
}

void collect(const CommandTree& command, std::vector<const CommandTree*>& commands) {
  commands.push_back(&command);
  for (const CommandTree& child : command.commands) collect(child, commands);
}

}  // namespace

CommandTree command_tree(const CLI::App& app) { return read_command(app, app.get_name()); }

std::vector<const CommandTree*> all_commands(const CommandTree& root) {
  std::vector<const CommandTree*> commands;
  collect(root, commands);
  return commands;
}

}  // namespace lacuna::cli
