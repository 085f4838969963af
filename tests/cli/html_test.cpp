// `--html` as a user runs it; what the page shows is tested in a browser (tests/browser).
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/cli_fixture.hpp"
#include "report/html_report.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using testing::ProgramResult;
using testing::read_text;
using testing::run_lacuna;

class HtmlCli : public testing::CliTest {
 protected:
  static json data_of(const std::string& html) {
    constexpr std::string_view kBegin = "id=\"lacuna-data\">";
    const std::size_t begin = html.find(kBegin) + kBegin.size();
    return json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  }
};

TEST_F(HtmlCli, HoldsWhatJsonHolds) {
  const std::string trace = small_trace("t.safetensors");
  const std::string page = folder_.file("r.html");
  const ProgramResult result =
      run_lacuna({"simulate", trace, "--layers", "--html", page, "--json", folder_.file("r.json")});
  if (!has_report_page()) {
    expect_error(result, "--html: this program was built without the report's page");
    EXPECT_FALSE(std::filesystem::exists(page));
    EXPECT_FALSE(std::filesystem::exists(folder_.file("r.json")));
    return;
  }
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json data = data_of(read_text(page));
  EXPECT_EQ(data["kind"], "simulate");
  EXPECT_EQ(data["simulate"], json::parse(read_text(folder_.file("r.json"))));
  EXPECT_EQ(data["inspect"]["traces"][0]["trace"], trace);
  EXPECT_TRUE(data["command"].get<std::string>().starts_with("lacuna simulate "));
}

TEST_F(HtmlCli, IsRefusedBeforeAnythingIsRead) {
  if (!has_report_page()) GTEST_SKIP() << "the program was built without the report's page";
  const std::string none = folder_.file("none.safetensors");
  const std::string both = folder_.file("both");
  expect_error(run_lacuna({"inspect", none, "--html", folder_.file("no/r.html")}), "there is no folder");
  expect_error(run_lacuna({"inspect", none, "--html", "-"}), "give the name of a file");
  expect_error(run_lacuna({"inspect", none, "--html", both, "--csv", both}), "give each its own file");
  const std::string trace = small_trace("t.safetensors");
  expect_error(run_lacuna({"simulate", trace, "--html", trace}), "this is an input");
}

}  // namespace
}  // namespace lacuna
