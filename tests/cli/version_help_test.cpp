// `lacuna version` and `lacuna help`, and the options that say the same.
#include <fmt/format.h>
#include <regex>
#include <sstream>

#include "base/output_file.hpp"
#include "cli/cli_fixture.hpp"

namespace lacuna {
namespace {

using namespace testing_support;

TEST_F(CliTest, VersionNamesWhatTheProgramIs) {
  const ProgramResult version = run_lacuna({"version"});
  EXPECT_EQ(version.exit_code, 0) << version.err;
  EXPECT_EQ(version.out.substr(0, version.out.find('\n')), "lacuna " LACUNA_TEST_VERSION);
  for (const char* name : {"\ncommit: ", "\ncompiler: ", "\ncpu: ", "\nonednn: "})
    EXPECT_NE(version.out.find(name), std::string::npos) << version.out;
  EXPECT_EQ(run_lacuna({"--version"}).out, version.out);
  EXPECT_EQ(run_lacuna({"-V"}).out, version.out);
}

TEST_F(CliTest, HelpIsTheSameAsTheOption) {
  EXPECT_EQ(run_lacuna({"help"}).out, run_lacuna({"--help"}).out);
  EXPECT_EQ(run_lacuna({"help", "train"}).out, run_lacuna({"train", "--help"}).out);
  EXPECT_EQ(run_lacuna({"help", "arch", "area"}).out, run_lacuna({"arch", "area", "--help"}).out);
  expect_error(run_lacuna({"help", "trian"}), "unknown command 'trian'; did you mean 'train'?");
  expect_error(run_lacuna({"help", "train", "x"}), "'lacuna train' has no commands of its own");
}

// What stands for a value is a word for people: no type of C++, no range, no default behind an equals sign.
TEST_F(CliTest, HelpNamesValuesInWords) {
  const std::regex raw("\\b(INT|UINT|FLOAT|BOOLEAN|TEXT:|REQUIRED|Excludes:)| in \\[|:\\{|=\\[");
  const std::regex equals("^  -[^ ]+ [^ ]*=");
  for (const char* command : {"", "demo", "train", "inspect", "simulate", "storage", "reproduce", "compare",
                              "arch list", "arch show", "arch area", "synth", "bench", "help"}) {
    std::istringstream lines(run_shell(fmt::format("$LACUNA {} --help", command)).out);
    for (std::string line; std::getline(lines, line) && line != "Examples:";) {
      if (line.starts_with("  --set ")) continue;  // key=value, and below the parameters of a study
      EXPECT_FALSE(std::regex_search(line, raw)) << command << ": " << line;
      EXPECT_FALSE(std::regex_search(line, equals)) << command << ": " << line;
    }
  }
  const std::string page = run_lacuna({"help", "--man"}).out;
  EXPECT_FALSE(std::regex_search(page, raw)) << page;
  const std::string bench = run_lacuna({"bench", "--help"}).out;
  EXPECT_NE(bench.find("--zeros PERCENT,..."), std::string::npos) << bench;
  EXPECT_NE(bench.find("(default: 0,20,40,50,60,70,80,90,95)"), std::string::npos) << bench;
  const std::string storage = run_lacuna({"storage", "--help"}).out;
  EXPECT_NE(storage.find("(not together with --config)"), std::string::npos) << storage;
}

// `arch show` takes the machines that `arch area` takes.
TEST_F(CliTest, ArchShowTakesAFile) {
  const std::string file = folder_.file("mine.yaml");
  write_file(file, "arch: tensordash\nname: mine\nrows: 8\n");
  const ProgramResult shown = run_lacuna({"arch", "show", "--config", file, "--set", "depth=2"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("mine: "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("rows = 8 PEs  (changed; the default is 4)"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("depth = 2 steps  (changed; the default is 3)"), std::string::npos) << shown.out;
  EXPECT_NE(run_lacuna({"arch", "show", "--config", file, "--json"}).out.find("\"name\": \"mine\""),
            std::string::npos);
  expect_error(run_lacuna({"arch", "show"}), "arch show: no machine is named; give a name");
  expect_error(run_lacuna({"arch", "show", "dense", "--config", file}),
               "arch show: 2 machines are named; show one");
  expect_error(run_lacuna({"arch", "show", file}), "a file is given with --config FILE");
  write_file(file, "arch: tensordash\nrow: 8\n");
  expect_error(run_lacuna({"arch", "show", "--config", file}), "did you mean 'rows'?");
}

}  // namespace
}  // namespace lacuna
