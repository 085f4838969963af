// `lacuna demo`: needs nothing, keeps everything, gives the same numbers twice.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_program.hpp"
#include "report/study/demo_tables.hpp"

namespace lacuna {
namespace {

using namespace testing;

// From one heading to the next.
std::string section(const std::string& text, const std::string& from, const std::string& to) {
  const auto begin = text.find(from);
  const auto end = text.find(to, begin == std::string::npos ? 0 : begin);
  EXPECT_NE(begin, std::string::npos) << from;
  EXPECT_NE(end, std::string::npos) << to;
  return begin == std::string::npos || end == std::string::npos ? "" : text.substr(begin, end - begin);
}

TEST(DemoCli, NeedsNothingAndKeepsEverything) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name) {
    return run_shell("cd '" + folder.path().string() +
                     "' && env -i \"$LACUNA\" demo --steps 20 --threads 1 --out " + name);
  };
  const ProgramResult result = run("one");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* part : {"dense", "TensorDash", "Cnvlutin", "SparTen", "2:4", "SCNN-like", "ANT", "conv1_1",
                           "weight_grad", "(measured", "(simulated"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
  for (const char* file :
       {"summary.txt", "results.json", "results.csv", "kernels.csv", "log.csv", "checkpoint.safetensors",
        "trace_000001.safetensors.zst", "trace_000010.safetensors.zst", "trace_000019.safetensors.zst"})
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "one" / file)) << file;
  EXPECT_EQ(read_text(folder.path() / "one" / "summary.txt"), result.out);
  const auto results = nlohmann::json::parse(read_text(folder.path() / "one" / "results.json"));
  EXPECT_EQ(results["runs"].size(), 3 * kDemoMachines.size());
  EXPECT_EQ(run_lacuna({"inspect", folder.file("one/trace_000019.safetensors.zst")}).exit_code, 0);

  // Again: the same bytes but for what was timed.
  const ProgramResult again = run("two");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  for (const char* file : {"results.json", "checkpoint.safetensors", "trace_000019.safetensors.zst"}) {
    std::string first = read_text(folder.path() / "one" / file);
    EXPECT_TRUE(first == read_text(folder.path() / "two" / file)) << file;
  }
  EXPECT_EQ(section(result.out, "2. Where", "4. The same"), section(again.out, "2. Where", "4. The same"));

  // Nobody can read what it says at the end.
  const ProgramResult full = run("three > /dev/full");
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_NE(full.err.find("standard output: cannot write"), std::string::npos) << full.err;
}

TEST(DemoCli, RefusesAFolderThatCannotBe) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_shell("touch '" + folder.file("taken") + "'").exit_code, 0);
  const ProgramResult result = run_lacuna({"demo", "--out", folder.file("taken")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("give another one with --out"), std::string::npos) << result.err;
  EXPECT_EQ(run_lacuna({"demo", "--steps", "1"}).exit_code, 2);
}

}  // namespace
}  // namespace lacuna
