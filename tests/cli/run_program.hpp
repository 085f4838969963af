// Runs the built `lacuna` as a user would and gives back what it printed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/testing.hpp"

namespace lacuna::testing {

struct ProgramResult {
  int exit_code = -1;  // 128 + N if signal N ended it, as a shell shows it
  std::string out;
  std::string err;
};

// `lacuna ARGUMENTS...` without a terminal.
ProgramResult run_lacuna(const std::vector<std::string>& arguments);
// A line for bash, where $LACUNA is the program.
ProgramResult run_shell(const std::string& line);
// False in a sandbox without pseudo-terminals.
bool has_terminals();
// `lacuna ARGUMENTS...` on a terminal: both streams come back in `out`, with \r\n at the ends of lines.
// `environment`: assignments such as "NO_COLOR=1".
ProgramResult run_on_terminal(const std::vector<std::string>& arguments,
                              const std::vector<std::string>& environment = {});

// The program ended with one line that says what is wrong, `part` of it, and printed nothing else.
void expect_error(const ProgramResult& result, const std::string& part);

using lacuna::TemporaryFolder;

std::string read_text(const std::filesystem::path& path);

}  // namespace lacuna::testing
