#include "cli/manual/help_formatter.hpp"

#include <fmt/format.h>
#include <vector>

namespace lacuna::cli {

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";  // a flag
  const std::string& type = option->get_type_name();
  std::string text = type.empty() ? "" : fmt::format(" {}", type);
  // "NAME,..." says already that there may be several.
  if (option->get_expected_max() > 1 && !type.ends_with("...")) text += " ...";
  return text;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::vector<std::string> notes;
  std::string value = option->get_default_str();
  if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);  // a list
  if (!value.empty()) notes.push_back(fmt::format("default: {}", value));
  if (option->get_required() && option->nonpositional()) notes.emplace_back("required");
  for (const CLI::Option* other : option->get_excludes())
    notes.push_back(fmt::format("not together with {}", other->get_name()));
  const std::string& text = option->get_description();
  return notes.empty() ? text : fmt::format("{} ({})", text, fmt::join(notes, "; "));
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace lacuna::cli
