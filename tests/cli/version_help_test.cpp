// `lacuna version` and `lacuna help`, and the options that say the same.
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

}  // namespace
}  // namespace lacuna
