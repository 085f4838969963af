// The man page and the completions of shells say what --help says: `lacuna help --man`, `lacuna help
// --completion SHELL`.
#include <regex>
#include <set>
#include <sstream>

#include "cli/cli_fixture.hpp"

namespace lacuna {
namespace {

using namespace testing;

// What --help prints, which is made by CLI11 and by none of the code that is tested here.
struct Help {
  std::string command;
  std::string text;
  std::set<std::string> options;
};
void read_help(const std::string& command, std::vector<Help>& out) {
  const std::string text = run_shell("$LACUNA " + command + " --help").out;
  ASSERT_NE(text, "");
  Help help{command, text, {}};
  std::vector<std::string> below;
  std::istringstream lines(text);
  std::string section;
  static const std::regex kOption("^  (?:-\\w,)?(--[\\w-]+).*"), kCommand("^  ([a-z]+) .*");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!line.starts_with(' ')) section = line;
    if (section == "Options:" && std::regex_match(line, match, kOption)) help.options.insert(match[1]);
    if ((section == "Commands:" || section == "Subcommands:") && std::regex_match(line, match, kCommand))
      below.push_back(match[1]);
  }
  out.push_back(help);
  for (const std::string& name : below) read_help(command.empty() ? name : command + " " + name, out);
}

class Manual : public CliTest {
 protected:
  // Every command's --help, read once.
  void SetUp() override {
    if (commands_.empty()) read_help("", commands_);
    ASSERT_GE(commands_.size(), 14U);
  }
  // The candidates for the last of `words` in bash.
  std::set<std::string> complete(const std::string& words) {
    const ProgramResult result = run_shell(
        "cd " LACUNA_SOURCE_DIR " && source <($LACUNA help --completion bash) && COMP_WORDS=(lacuna " +
        words +
        ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _lacuna && printf '%s\\n' \"${COMPREPLY[@]}\"");
    EXPECT_EQ(result.exit_code, 0) << words << ": " << result.err;
    std::set<std::string> candidates;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) candidates.insert(line);
    }
    return candidates;
  }
  static inline std::vector<Help> commands_;
};

TEST_F(Manual, ManPageHasEveryCommandAndOption) {
  const ProgramResult page = run_lacuna({"help", "--man"});
  ASSERT_EQ(page.exit_code, 0) << page.err;
  const std::string text = std::regex_replace(page.out, std::regex("\\\\-"), "-");
  for (const Help& help : commands_) {
    const std::string heading = help.command.empty() ? ".SH OPTIONS\n" : ".SS lacuna " + help.command + "\n";
    const std::size_t begin = text.find(heading);
    ASSERT_NE(begin, std::string::npos) << heading;
    const std::size_t end = std::min(text.find("\n.S", begin + 1), text.size());
    const std::string section = text.substr(begin, end - begin);
    for (const std::string& option : help.options) {
      const bool said_once = option == "--help" && !help.command.empty();
      EXPECT_EQ(section.find("\\fB" + option + "\\fR") == std::string::npos, said_once)
          << help.command << " " << option;
    }
  }
  // Variables of the environment that the program reads.
  for (const char* name :
       {"LACUNA_CACHE_DIR", "LACUNA_DATA", "LACUNA_ISA", "LACUNA_LIBRARY", "LACUNA_MEMORY", "NO_COLOR"})
    EXPECT_NE(text.find(name), std::string::npos) << name;
  EXPECT_EQ(run_shell("grep -rhoE 'getenv\\(\"LACUNA_[A-Z_]+|folder\\(\"LACUNA_[A-Z_]+' " LACUNA_SOURCE_DIR
                      "/src --include=*.cpp --exclude=*_test.cpp | grep -oE 'LACUNA_.*' | sort -u")
                .out,
            "LACUNA_CACHE_DIR\nLACUNA_DATA\nLACUNA_ISA\nLACUNA_MEMORY\n")
      << "a variable that the man page does not name";
  EXPECT_EQ(run_shell("grep -rhoE 'environ[^ ]*\\(\"LACUNA_[A-Z_]+' " LACUNA_SOURCE_DIR
                      "/python/lacuna --include=*.py | grep -oE 'LACUNA_.*' | sort -u")
                .out,
            "LACUNA_LIBRARY\n")
      << "a variable that the man page does not name";
}

// What stands for a value is a word for people: no type of C++, no range, no default behind an equals sign.
TEST_F(Manual, HelpNamesValuesInWords) {
  const std::regex raw("\\b(INT|UINT|FLOAT|BOOLEAN|TEXT:|REQUIRED|Excludes:)| in \\[|:\\{|=\\[");
  const std::regex equals("^  -[^ ]+ [^ ]*=");
  for (const Help& help : commands_) {
    std::istringstream lines(help.text);
    for (std::string line; std::getline(lines, line) && line != "Examples:";) {
      if (line.starts_with("  --set ")) continue;  // key=value, and below the parameters of a study
      EXPECT_FALSE(std::regex_search(line, raw)) << help.command << ": " << line;
      EXPECT_FALSE(std::regex_search(line, equals)) << help.command << ": " << line;
    }
  }
  const std::string page = run_lacuna({"help", "--man"}).out;
  EXPECT_FALSE(std::regex_search(page, raw)) << page;
  const std::string bench = run_lacuna({"bench", "layers", "--help"}).out;
  EXPECT_NE(bench.find("--zeros PERCENT,..."), std::string::npos) << bench;
  EXPECT_NE(bench.find("(default: 0,20,40,50,60,70,80,90,95)"), std::string::npos) << bench;
  const std::string storage = run_lacuna({"storage", "--help"}).out;
  EXPECT_NE(storage.find("(not together with --config)"), std::string::npos) << storage;
}

TEST_F(Manual, ManPageIsGoodTroff) {
  if (run_shell("command -v groff").exit_code != 0) GTEST_SKIP() << "no groff here (Debian: groff-base)";
  const ProgramResult shown =
      run_shell("set -o pipefail; $LACUNA help --man | groff -man -ww -Tascii -P-cbou");
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_EQ(shown.err, "");
  EXPECT_NE(shown.out.find("--kernels dense|sparse|auto"), std::string::npos);
  EXPECT_NE(shown.out.find("lacuna arch area tensordash --set depth=2"), std::string::npos);
}

TEST_F(Manual, BashCompletesEveryCommandAndOption) {
  for (const Help& help : commands_) {
    const std::set<std::string> offered = complete(help.command + " --");
    for (const std::string& option : help.options)
      EXPECT_TRUE(offered.contains(option)) << help.command << " " << option;
  }
  EXPECT_EQ(complete("si"), std::set<std::string>{"simulate"});
  EXPECT_EQ(complete("arch ''"), (std::set<std::string>{"area", "list", "show"}));
}

TEST_F(Manual, BashCompletesValues) {
  EXPECT_EQ(complete("train --kernels ''"), (std::set<std::string>{"auto", "dense", "sparse"}));
  EXPECT_EQ(complete("train --kernels = s"), std::set<std::string>{"sparse"});
  EXPECT_EQ(complete("simulate --arch ant-"), std::set<std::string>{"ant-4096"});
  EXPECT_EQ(complete("simulate --arch dense,ant-"), std::set<std::string>{"dense,ant-4096"});
  EXPECT_EQ(complete("arch show ant-"), std::set<std::string>{"ant-4096"});
  EXPECT_EQ(complete("train --model alex"), std::set<std::string>{"alexnet"});
  EXPECT_EQ(complete("simulate data/gcn_p"), std::set<std::string>{"data/gcn_p100.safetensors.zst"});
  EXPECT_EQ(complete("train --steps ''"), std::set<std::string>{});
  EXPECT_EQ(complete("help stor"), std::set<std::string>{"storage"});
}

TEST_F(Manual, OtherShellsTakeTheirScripts) {
  int shells = 0;
  if (run_shell("command -v zsh").exit_code == 0) {
    ++shells;
    const ProgramResult zsh = run_shell("$LACUNA help --completion zsh | zsh -fn");
    EXPECT_EQ(zsh.exit_code, 0) << zsh.err;
  }
  if (run_shell("command -v fish").exit_code == 0) {
    ++shells;
    const ProgramResult fish =
        run_shell("HOME=" + folder_.file("") +
                  " fish -c \"$LACUNA help --completion fish | source; complete -C 'lacuna simulate "
                  "--arch=dense,ant-'; "
                  "complete -C 'lacuna train --kernels s'; complete -C 'lacuna arch ar'\" | cut -f 1");
    EXPECT_EQ(fish.out, "--arch=dense,ant-4096\nsparse\narea\n") << fish.err;
  }
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = run_lacuna({"help", "--completion", shell}).out;
    for (const Help& help : commands_) {
      for (const std::string& option : help.options)
        EXPECT_NE(script.find(option.substr(2)), std::string::npos) << shell << " " << help.command << option;
    }
  }
  expect_error(run_lacuna({"help", "--completion", "tcsh"}), "--completion");
  if (shells < 2) GTEST_SKIP() << "not both of zsh and fish are here; only the names were checked";
}

}  // namespace
}  // namespace lacuna
