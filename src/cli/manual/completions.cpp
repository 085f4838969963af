#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "base/io/embedded_file.hpp"
#include "cli/manual/command_tree.hpp"
#include "cli/terminal/terminal.hpp"

namespace lacuna::cli {

std::span<const EmbeddedFile> embedded_completion();  // cmake/LacunaEmbed.cmake

namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// ---- bash

// Assignments of a `case` branch: `words`, `files` (f: files, d: folders) and `list`.
std::string bash_hint(const ValueHint& hint) {
  std::string text = fmt::format("words={}", shell_quote(joined(hint.words)));
  if (hint.files || hint.folders) text += fmt::format(" files={}", hint.files ? 'f' : 'd');
  if (hint.list) text += " list=1";
  return text;
}

// ---- zsh

// In '--option=[help]:value:action'. Colons separate, brackets end.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const ValueHint& hint) {
  std::vector<std::string> actions;
  if (!hint.words.empty()) {
    std::vector<std::string> words;
    for (const std::string& word : hint.words) words.push_back(zsh_text(word));
    actions.push_back(hint.list ? fmt::format("_values -s , value {}", joined(words))
                                : fmt::format("({})", joined(words)));
  }
  if (hint.files) actions.emplace_back("_files");
  if (hint.folders) actions.emplace_back("_files -/");
  if (actions.empty()) return " ";  // a value, but none that could be named
  if (actions.size() == 1) return actions.front();
  // In braces, or _arguments adds its own options, which _alternative takes for its.
  return fmt::format("{{_alternative \"values\\:value\\:({})\" \"files\\:file\\:_files\"}}",
                     joined(hint.words));
}

std::string zsh_value(const OptionTree& option) {
  return fmt::format(":{}:{}", zsh_text(option.value.empty() ? option.names.front() : option.value),
                     zsh_action(option.hint));
}

std::string zsh_function(const CommandTree& command) {
  std::string function = "_" + command.path;
  std::ranges::replace(function, ' ', '_');
  std::string text = fmt::format("{}() {{\n", function);
  if (!command.commands.empty())
    text +=
        "  local curcontext=$curcontext state state_descr line ret=1\n  typeset -A opt_args\n"
        "  local -a commands\n";
  text += fmt::format("  _arguments{} :", command.commands.empty() ? "" : " -C");
  for (const OptionTree& option : command.options) {
    for (const std::string& name : option.names) {
      // Another name of the same option is not offered after this one; a repeated option always is.
      const std::string before = option.repeated            ? "*"
                                 : option.names.size() == 1 ? ""
                                                            : fmt::format("({})", joined(option.names));
      const bool value = !option.value.empty();
      const char* equals = !value ? "" : name.starts_with("--") ? "=" : "+";
      const std::string spec = fmt::format("{}{}{}[{}]{}", before, name, equals, zsh_text(option.help),
                                           value ? zsh_value(option) : "");
      text += " \\\n    " + shell_quote(spec);
    }
  }
  if (!command.commands.empty()) {
    text += " \\\n    '1:command:->command' '*::argument:->argument' && ret=0\n  case $state in\n";
    text += "    command)\n      commands=(\n";
    for (const CommandTree& child : command.commands)
      text += fmt::format("        {}\n",
                          shell_quote(fmt::format("{}:{}", zsh_text(child.name), zsh_text(child.help))));
    text += "      )\n      _describe command commands && ret=0\n      ;;\n    argument)\n";
    text += "      case $line[1] in\n";
    for (const CommandTree& child : command.commands)
      text += fmt::format("        {}) {}_{} && ret=0 ;;\n", child.name, function, child.name);
    text += "      esac\n      ;;\n  esac\n  return ret\n";
  } else {
    for (const OptionTree& argument : command.arguments)
      text += " \\\n    " + shell_quote((argument.repeated ? "*" : "") + zsh_value(argument));
    text += "\n";
  }
  return text + "}\n";
}

// ---- fish

std::string fish_values(const ValueHint& hint) {
  if (hint.words.empty()) return "";
  return hint.list ? fmt::format(" -a {}", shell_quote("(__fish_append , " + joined(hint.words) + ")", true))
                   : fmt::format(" -a {}", shell_quote(joined(hint.words), true));
}

std::string fish_option(const CommandTree& command, const OptionTree& option) {
  std::string text =
      fmt::format("complete -c lacuna -n {}", shell_quote("__lacuna_at " + command.path, true));
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name[1]);
  if (!option.value.empty()) {
    // -x: a value that is not a file, -r: a value.
    text += option.hint.files || option.hint.folders ? " -r -F" : " -x";
    text += fish_values(option.hint);
  }
  return fmt::format("{} -d {}\n", text, shell_quote(option.help, true));
}

}  // namespace

std::string bash_completion(const CommandTree& root) {
  const auto commands = all_commands(root);
  std::string text;
  for (const CommandTree* command : commands) {
    if (command != &root)
      text += fmt::format("      {}) path={} ;;\n", shell_quote(command->path), shell_quote(command->path));
  }
  // The value of an option; else an option; else an argument or a command.
  text += "    esac\n  done\n  case \"$path $prev\" in\n";
  for (const CommandTree* command : commands) {
    for (const OptionTree& option : command->options) {
      if (option.value.empty()) continue;
      std::string patterns;
      for (const std::string& name : option.names)
        patterns += fmt::format("{}{}", patterns.empty() ? "" : " | ",
                                shell_quote(fmt::format("{} {}", command->path, name)));
      text += fmt::format("    {}) {} ;;\n", patterns, bash_hint(option.hint));
    }
  }
  text += "    *) i=none ;;\n  esac\n  if [ \"$i\" = none ] && [ \"${cur:0:1}\" = - ]; then\n";
  text += "    case $path in\n";
  for (const CommandTree* command : commands) {
    std::vector<std::string> names;
    for (const OptionTree& option : command->options)
      names.insert(names.end(), option.names.begin(), option.names.end());
    text += fmt::format("      {}) words={} ;;\n", shell_quote(command->path), shell_quote(joined(names)));
  }
  text += "    esac\n  elif [ \"$i\" = none ]; then\n    case $path in\n";
  for (const CommandTree* command : commands) {
    ValueHint hint;
    for (const CommandTree& child : command->commands) hint.words.push_back(child.name);
    if (hint.words.empty() && !command->arguments.empty()) hint = command->arguments.front().hint;
    text += fmt::format("      {}) {} ;;\n", shell_quote(command->path), bash_hint(hint));
  }
  // Without the helpers of the package bash-completion, which may not be there.
  std::string script(embedded_completion().front().bytes);
  constexpr std::string_view kCases = "@cases@";
  return script.replace(script.find(kCases), kCases.size(), text + "    esac\n");
}

std::string zsh_completion(const CommandTree& root) {
  std::string text =
      "#compdef lacuna\n# zsh completion of lacuna, written by `lacuna help --completion zsh`\n";
  for (const CommandTree* command : all_commands(root)) text += zsh_function(*command);
  return text + "_lacuna \"$@\"\n";
}

std::string fish_completion(const CommandTree& root) {
  const auto commands = all_commands(root);
  std::string text = "# fish completion of lacuna, written by `lacuna help --completion fish`\n";
  text += "function __lacuna_at\n  set -l path lacuna\n  set -l words (commandline -opc)\n";
  text += "  for word in $words[2..-1]\n    if contains -- \"$path $word\"";
  for (const CommandTree* command : commands) {
    if (command != &root) text += " " + shell_quote(command->path, true);
  }
  text += "\n      set path \"$path $word\"\n    end\n  end\n  test \"$path\" = \"$argv\"\nend\n";
  text += "complete -c lacuna -f\n";
  for (const CommandTree* command : commands) {
    const std::string at = shell_quote("__lacuna_at " + command->path, true);
    for (const CommandTree& child : command->commands)
      text += fmt::format("complete -c lacuna -n {} -a {} -d {}\n", at, child.name,
                          shell_quote(child.help, true));
    for (const OptionTree& option : command->options) text += fish_option(*command, option);
    for (const OptionTree& argument : command->arguments) {
      const bool files = argument.hint.files || argument.hint.folders;
      if (!files && argument.hint.words.empty()) continue;
      text += fmt::format("complete -c lacuna -n {}{}{} -d {}\n", at, files ? " -F" : "",
                          fish_values(argument.hint), shell_quote(argument.help, true));
    }
  }
  return text;
}

}  // namespace lacuna::cli
