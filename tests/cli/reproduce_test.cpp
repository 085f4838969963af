// lacuna reproduce: the papers' numbers come from data/papers, ours are held against what is recorded, and
// what is wrong is one line.
#include <fstream>
#include <iterator>

#include "base/io/output_file.hpp"
#include "cli/cli_fixture.hpp"
#include "cli/json_schema.hpp"
#include "report/html_report.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using namespace testing;

// A folder like data/, small and free to be changed: the manifest, one trace and the papers.
class ReproduceTest : public CliTest {
 protected:
  void SetUp() override {
    const std::filesystem::path data = LACUNA_SOURCE_DIR "/data";
    std::filesystem::create_directories(folder_.file("data/papers"));
    for (const char* name : {"MANIFEST.csv", "gcn_p100.safetensors.zst", "gcn_unpadded_p100.safetensors.zst"})
      std::filesystem::copy_file(data / name, file(name));
    for (const char* name : {"tensordash.yaml", "ant.yaml", "sparsetrain.yaml", "recorded.yaml"})
      std::filesystem::copy_file(data / "papers" / name, file(std::string("papers/") + name));
  }
  std::string file(const std::string& name) const { return folder_.file("data/" + name); }
  ProgramResult reproduce(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "reproduce");
    arguments.insert(arguments.end(), {"--data", folder_.file("data"), "--threads", "1"});
    return run_lacuna(arguments);
  }
  static void replace(const std::string& path, const std::string& from, const std::string& to) {
    std::string text = read_text(path);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_file(path, text.replace(at, from.size(), to));
  }
};

TEST_F(ReproduceTest, ListNamesEveryFigure) {
  const ProgramResult result = run_lacuna({"reproduce", "--list"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* id : {"fig1 ", "fig13 ", "fig20 ", "table3 ", "ant ", "ant-assumptions ", "sparsetrain "})
    EXPECT_NE(result.out.find(id), std::string::npos) << id;
}

TEST_F(ReproduceTest, PapersNumbersComeFromTheirFiles) {
  const ProgramResult before = reproduce({"gcn", "table3", "--json", "-"});
  ASSERT_EQ(before.exit_code, 0) << before.err << before.out;
  replace(file("papers/tensordash.yaml"), "gcn.efficiency: {value: 0.995", "gcn.efficiency: {value: 7.25");
  const ProgramResult after = reproduce({"gcn", "table3", "--json", "-"});
  ASSERT_EQ(after.exit_code, 0) << after.err;
  const auto efficiency = [](const std::string& text) {
    return json::parse(text)["figures"][0]["tables"][0]["cells"][4];
  };
  EXPECT_EQ(efficiency(before.out)["paper"]["value"], 0.995);
  EXPECT_EQ(efficiency(after.out)["paper"]["value"], 7.25);
  EXPECT_EQ(efficiency(before.out)["ours"], efficiency(after.out)["ours"]);
  EXPECT_LT(efficiency(after.out)["difference"], -0.8);
  EXPECT_FALSE(efficiency(after.out)["reason"].get<std::string>().empty());
  EXPECT_NE(reproduce({"gcn"}).out.find("7.25"), std::string::npos);
}

TEST_F(ReproduceTest, JsonFollowsItsSchema) {
  const ProgramResult result = reproduce({"gcn", "table3", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  json document = json::parse(result.out);
  const JsonSchema schema(json::parse(read_text(LACUNA_SOURCE_DIR "/docs/schema/reproduce-v2.schema.json")));
  EXPECT_EQ(schema.violations(document), std::vector<std::string>{});
  EXPECT_EQ(document["lacuna"], LACUNA_TEST_VERSION);
  EXPECT_EQ(document["grade"]["circular"], 16);
  document["figures"][0]["tables"][0]["cells"][0].erase("ours");
  document["figures"][0]["more"] = 1;
  EXPECT_EQ(schema.violations(document).size(), 2u);
}

TEST_F(ReproduceTest, MovedNumberExitsWithOneAndIsNamed) {
  replace(file("papers/recorded.yaml"), "\"table3/area/compute cores/TensorDash\": 30",
          "\"table3/area/compute cores/TensorDash\": 31");
  const ProgramResult moved = reproduce({"table3"});
  EXPECT_EQ(moved.exit_code, 1);
  EXPECT_NE(moved.out.find("moved: table3/area/compute cores/TensorDash: recorded 31"), std::string::npos)
      << moved.out;
  EXPECT_NE(moved.out.find("1 number moved"), std::string::npos) << moved.out;
  const ProgramResult for_programs = reproduce({"table3", "--json", "-"});
  EXPECT_EQ(for_programs.exit_code, 1);
  EXPECT_EQ(json::parse(for_programs.out)["moved"].size(), 1u);
  EXPECT_EQ(reproduce({"gcn"}).exit_code, 0);  // of another figure
  EXPECT_EQ(reproduce({"table3", "--record"}).exit_code, 0);
  EXPECT_EQ(reproduce({"table3"}).exit_code, 0);
  EXPECT_EQ(read_text(file("papers/recorded.yaml")),
            read_text(LACUNA_SOURCE_DIR "/data/papers/recorded.yaml"));
}

TEST_F(ReproduceTest, NothingIsRecordedWithoutItsReason) {
  replace(file("papers/tensordash.yaml"),
          "{value: 30.41, circular: \"the unit costs are these numbers divided by units (A18)\"",
          "{value: 20");
  const std::string before = read_text(file("papers/recorded.yaml"));
  expect_error(reproduce({"table3", "--record"}),
               "table3/area/compute cores/TensorDash is far from the paper's");
  EXPECT_EQ(read_text(file("papers/recorded.yaml")), before);
}

TEST_F(ReproduceTest, AgainstThePaperTheDistanceIsTheExitCode) {
  // The area of Table 3 is made of the paper's numbers, but for the ratios of the whole chip.
  replace(file("papers/tensordash.yaml"), "bfloat16.chip_area: {value: 1.0005",
          "bfloat16.chip_area: {value: 1.0072");
  const ProgramResult apart = reproduce({"table3", "--against-paper"});
  EXPECT_EQ(apart.exit_code, 4);
  EXPECT_NE(apart.out.find("exits with 4, since 1 number is more than 20 % away"), std::string::npos)
      << apart.out;
  replace(file("papers/tensordash.yaml"), "chip_area: {value: 1.0005", "chip_area: {value: 1.0046");
  const ProgramResult far = reproduce({"table3", "--against-paper"});
  EXPECT_EQ(far.exit_code, 3);  // 8 % of the effect
  EXPECT_NE(far.out.find("exits with 3, since 1 number is more than 5 % away"), std::string::npos) << far.out;
  replace(file("papers/tensordash.yaml"), "chip_area: {value: 1.0046", "chip_area: {value: 1.0042");
  const ProgramResult near = reproduce({"table3", "--against-paper"});
  EXPECT_EQ(near.exit_code, 0);
  EXPECT_NE(near.out.find("2 of our 2 numbers are"), std::string::npos) << near.out;
  EXPECT_NE(near.out.find("all numbers are within 5 %"), std::string::npos) << near.out;
  EXPECT_EQ(reproduce({"table3"}).exit_code, 0);
}

TEST_F(ReproduceTest, WhatIsWrongIsOneLine) {
  expect_error(reproduce({"fig99"}), "unknown figure 'fig99'");
  expect_error(reproduce({"sparsetrain"}), "--timed");
  expect_error(reproduce({"table3", "--quick"}), "add --timed");
  expect_error(run_lacuna({"reproduce", "table3", "--data", folder_.file("nowhere")}),
               "MANIFEST.csv is missing");
  expect_error(run_shell("LACUNA_DATA='" + folder_.file("elsewhere") + "' \"$LACUNA\" reproduce table3"),
               "elsewhere");
  expect_error(reproduce({"table3", "--json", folder_.file("no/folder.json")}), "there is no folder");
  expect_error(reproduce({"fig13"}), "alexnet_p100.safetensors.zst");  // not in this copy
  if (has_report_page()) {
    const std::string page = folder_.file("r.html");
    expect_error(reproduce({"fig99", "--html", page}), "unknown figure 'fig99'");
    expect_error(reproduce({"table3", "--html", folder_.file("no/r.html")}), "there is no folder");
    expect_error(reproduce({"table3", "--html", "/proc/r.html"}), "/proc/r.html");
    expect_error(reproduce({"table3", "--html", "-"}), "give the name of a file");
    expect_error(reproduce({"table3", "--html", page, "--json", page}), "give each its own file");
    expect_error(reproduce({"table3", "--html", page, "--markdown", page}), "give each its own file");
    EXPECT_FALSE(std::filesystem::exists(page));
  }
  replace(file("papers/tensordash.yaml"), "gcn.speedup:", "gcn.speed:");
  expect_error(reproduce({"gcn"}), "there is no value 'gcn.speedup'");
}

TEST_F(ReproduceTest, DamagedTraceIsNamed) {
  std::string bytes = read_text(file("gcn_p100.safetensors.zst"));
  bytes[bytes.size() / 2] ^= 1;
  write_file(file("gcn_p100.safetensors.zst"), bytes);
  std::vector<std::string> arguments{"gcn", "--json", folder_.file("out.json")};
  if (has_report_page()) arguments.insert(arguments.end(), {"--html", folder_.file("out.html")});
  expect_error(reproduce(arguments), "gcn_p100.safetensors.zst: the file is damaged");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.json")));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.html")));
}

TEST_F(ReproduceTest, FullDiskLeavesNothingBehind) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  expect_error(reproduce({"table3", "--json", "/dev/full"}), "/dev/full");
  // A file that may not grow: nothing under its name.
  const ProgramResult limited =
      run_shell("ulimit -f 1; \"$LACUNA\" reproduce table3 --data '" + folder_.file("data") + "' --json '" +
                folder_.file("r.json") + "' >/dev/null");
  EXPECT_EQ(limited.exit_code, 2) << limited.err;
  EXPECT_EQ(std::ranges::count(limited.err, '\n'), 1) << limited.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.file("r.json")));
  if (!has_report_page()) return;
  expect_error(reproduce({"table3", "--html", "/dev/full"}), "/dev/full: cannot write");
  const ProgramResult page =
      run_shell("ulimit -f 100; \"$LACUNA\" reproduce table3 --data '" + folder_.file("data") + "' --html '" +
                folder_.file("r.html") + "' >/dev/null");
  EXPECT_EQ(page.exit_code, 2) << page.err;
  EXPECT_EQ(std::ranges::count(page.err, '\n'), 1) << page.err;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_NE(entry.path().filename().string().find("data"), std::string::npos) << entry.path();
}

TEST_F(ReproduceTest, PageHoldsTheJson) {
  if (!has_report_page()) GTEST_SKIP() << "built without the report's page";
  const ProgramResult result =
      reproduce({"gcn", "--html", folder_.file("r.html"), "--json", folder_.file("r.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string page = read_text(folder_.file("r.html"));
  const std::string_view begin = "id=\"lacuna-data\">";
  const std::size_t at = page.find(begin) + begin.size();
  const json data = json::parse(page.substr(at, page.find("</script>", at) - at));
  EXPECT_EQ(data["kind"], "reproduce");
  EXPECT_EQ(data["reproduce"], json::parse(read_text(folder_.file("r.json"))));
}

TEST_F(ReproduceTest, MarkdownHasTheSameNumbers) {
  const ProgramResult result = reproduce({"table3", "--markdown", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("| compute cores | 30.41 |"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace lacuna
