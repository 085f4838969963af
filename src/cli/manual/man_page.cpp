#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

#include "base/io/embedded_file.hpp"
#include "base/version.hpp"
#include "cli/manual/command_tree.hpp"

namespace lacuna::cli {

std::span<const EmbeddedFile> embedded_man_ending();  // cmake/LacunaEmbed.cmake

namespace {

// Text that troff shows as it is. A plain "-" would become a hyphen, which nobody can paste into a shell.
std::string escape(std::string_view text) {
  static constexpr std::array<std::pair<char, std::string_view>, 6> kEscapes{
      {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}}};
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    const auto* escaped = std::ranges::find(kEscapes, c, &std::pair<char, std::string_view>::first);
    if (escaped == kEscapes.end())
      out += c;
    else
      out += escaped->second;
  }
  return out;
}
std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", escape(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", escape(text)); }

// Lines that are shown as they are, broken where they would be wider than a terminal.
std::string verbatim(std::string_view text) {
  constexpr std::size_t kWidth = 72;
  std::string out = ".EX\n";
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    // A command stays whole, so that it can be pasted.
    const bool prose = indent == 0 || indent > 4;
    while (prose && line.size() > kWidth) {
      const std::size_t space = line.rfind(' ', kWidth);
      if (space == std::string_view::npos || space <= indent) break;
      out += escape(line.substr(0, space)) + "\n";
      line.remove_prefix(space + 1);
      out += std::string(indent, ' ');
    }
    out += escape(line) + "\n";
  }
  return out + ".EE\n";
}

std::string value_text(const OptionTree& option) {
  return option.value.empty() ? "" : fmt::format(" {}", italic(option.value));
}

std::string option_entry(const OptionTree& option, bool argument) {
  std::string names;
  for (const std::string& name : option.names) {
    if (!names.empty()) names += ", ";
    names += argument ? italic(name) : bold(name);
  }
  std::string text = fmt::format(".TP\n{}{}{}\n", names, value_text(option), option.repeated ? " ..." : "");
  text += escape(option.help);
  if (!option.help.ends_with('.')) text += '.';
  if (!option.default_value.empty()) text += fmt::format(" Default: {}.", escape(option.default_value));
  if (option.required && !argument) text += " Required.";
  return text + "\n";
}

std::string synopsis(const CommandTree& command) {
  std::string text = bold(command.path);
  if (!command.options.empty()) text += " [" + italic("OPTION") + "...]";
  // A command that does something by itself (sweep PLAN) needs no other section.
  if (!command.commands.empty())
    text += command.arguments.empty() ? " " + italic("COMMAND") : " [" + italic("COMMAND") + "]";
  for (const OptionTree& argument : command.arguments) {
    const std::string name = italic(argument.names.front()) + (argument.repeated ? "..." : "");
    text += argument.required ? fmt::format(" {}", name) : fmt::format(" [{}]", name);
  }
  return text;
}

bool is_help(const OptionTree& option) { return option.names.back() == "--help"; }

std::string command_section(const CommandTree& command) {
  std::string text =
      fmt::format(".SS {}\n{}\n.PP\n{}.\n", escape(command.path), synopsis(command), escape(command.help));
  for (const OptionTree& argument : command.arguments) text += option_entry(argument, true);
  for (const OptionTree& option : command.options) {
    if (!is_help(option)) text += option_entry(option, false);  // said once, for all of them
  }
  if (!command.footer.empty()) text += ".PP\n" + verbatim(command.footer);
  return text;
}

}  // namespace

std::string man_page(const CommandTree& root) {
  std::string text = ".\\\" Written by `lacuna help --man`.\n";
  text += fmt::format(".TH LACUNA 1 \"\" \"lacuna {}\" \"Lacuna\"\n", version());
  // Left-aligned, without hyphenation: most words are names.
  text +=
      ".nr HY 0\n.nh\n.ad l\n.SH NAME\nlacuna \\- what skipping zeros gives in the training of neural "
      "networks\n";
  text += fmt::format(".SH SYNOPSIS\n{}\n.SH DESCRIPTION\n{}\n", synopsis(root), escape(root.help));
  text += ".SH OPTIONS\n";
  for (const OptionTree& option : root.options) text += option_entry(option, false);
  text += "Every command has it.\n.SH COMMANDS\n";
  for (const CommandTree* command : all_commands(root)) {
    if (command != &root) text += command_section(*command);
  }
  // Sections that no option describes.
  return text + std::string(embedded_man_ending().front().bytes);
}

}  // namespace lacuna::cli
