// `lacuna version` and `lacuna help`, and the options that say the same.
#include "base/io/output_file.hpp"
#include "cli/cli_fixture.hpp"
#include "report/arch_report.hpp"

namespace lacuna {
namespace {

using namespace testing;

TEST_F(CliTest, VersionNamesWhatTheProgramIs) {
  const ProgramResult version = run_lacuna({"version"});
  EXPECT_EQ(version.exit_code, 0) << version.err;
  EXPECT_EQ(version.out.substr(0, version.out.find('\n')), "lacuna " LACUNA_TEST_VERSION);
  for (const char* name : {"\ncommit: ", "\ncompiler: ", "\ncpu: ", "\nonednn: ", "\nbuilt with: oneDNN, ",
                           "\nbuilt without: none"})
    EXPECT_NE(version.out.find(name), std::string::npos) << version.out;
  EXPECT_EQ(run_lacuna({"--version"}).out, version.out);
  EXPECT_EQ(run_lacuna({"-V"}).out, version.out);
}

TEST_F(CliTest, CitesLacunaAndThePapersOfEveryMachine) {
  const ProgramResult all = run_lacuna({"cite"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.out.find("@software{lacuna,"), 0U) << all.out;
  for (const char* key : {"tensordash", "ant", "scnn", "sparten", "cnvlutin", "structured2of4"})
    EXPECT_NE(all.out.find(std::string("{") + key + ",\n"), std::string::npos) << key;
  for (const AcceleratorModel& model : AcceleratorRegistry::instance().models()) {
    EXPECT_FALSE(model.cites.empty()) << model.name;
    for (const std::string& key : model.cites) EXPECT_FALSE(bibtex_entry(key).empty()) << key;
  }
}

// Each paper once, in the order of the machines, and nothing that was not used.
TEST_F(CliTest, CitesThePapersOfAResult) {
  const std::string result = folder_.file("result.json");
  ASSERT_EQ(
      run_lacuna({"simulate", small_trace("t.safetensors"), "--arch", "scnn", "--json", result}).exit_code,
      0);
  const std::string cited = run_lacuna({"cite", result}).out;
  EXPECT_EQ(cited, run_lacuna({"cite", "scnn", "dense", "ant"}).out);
  EXPECT_EQ(cited.find("sparten"), std::string::npos) << cited;
  EXPECT_EQ(cited.find("{ant,", cited.find("{ant,") + 1), std::string::npos) << cited;
  expect_error(run_lacuna({"cite", "scn"}), "did you mean 'scnn'?");
}

TEST_F(CliTest, HelpIsTheSameAsTheOption) {
  EXPECT_EQ(run_lacuna({"help"}).out, run_lacuna({"--help"}).out);
  EXPECT_EQ(run_lacuna({"help", "train"}).out, run_lacuna({"train", "--help"}).out);
  EXPECT_EQ(run_lacuna({"help", "arch", "area"}).out, run_lacuna({"arch", "area", "--help"}).out);
  expect_error(run_lacuna({"help", "trian"}), "unknown command 'trian'; did you mean 'train'?");
  expect_error(run_lacuna({"help", "train", "x"}), "'lacuna train' has no subcommands");
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
