// How --help shows an option: its name and what stands for its value in one column, everything else in words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lacuna::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  // "--batch N", "--config FILE ...": without default, range or type of C++.
  std::string make_option_opts(const CLI::Option* option) const override;
  // The description, the default, and what else is to be known.
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace lacuna::cli
