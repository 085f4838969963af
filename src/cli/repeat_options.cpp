#include "cli/repeat_options.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace lacuna::cli {
namespace {

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const bool name = std::ranges::all_of(word.substr(0, equals), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == ':';
  });
  std::error_code ignored;
  return name && word.front() != '-' && !std::filesystem::exists(word, ignored);
}

bool is_yaml(std::string_view word) {
  return word.front() != '-' && (word.ends_with(".yaml") || word.ends_with(".yml"));
}

}  // namespace

std::vector<std::string> repeat_options(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  std::string_view option;  // whose value may be followed by others
  bool value_next = false;
  for (const std::string& word : words) {
    if (word == "--") {
      out.insert(out.end(), words.begin() + (&word - words.data()), words.end());
      return out;
    }
    const bool starts = word == "--set" || word == "--config";
    const bool joined = word.starts_with("--set=") || word.starts_with("--config=");
    if (starts || joined) {
      option = word.starts_with("--set") ? "--set" : "--config";
      value_next = starts;
    } else if (value_next) {
      value_next = false;
    } else if (!option.empty()) {
      const bool more = !word.empty() && (option == "--set" ? is_assignment(word) : is_yaml(word));
      if (more) out.emplace_back(option);
      if (!more) option = {};
    }
    out.push_back(word);
  }
  return out;
}

}  // namespace lacuna::cli
