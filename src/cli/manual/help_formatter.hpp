// Formats options for --help: name and placeholder in one column, everything else in words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lacuna::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  // "--batch N", "--config FILE ...": without default, range or type of C++.
  std::string make_option_opts(const CLI::Option* option) const override;
  // The description, the default and other notes.
  std::string make_option_desc(const CLI::Option* option) const override;
  // With one empty line between groups, where CLI11 leaves two.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace lacuna::cli
