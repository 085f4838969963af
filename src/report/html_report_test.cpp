#include "report/html_report.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/text/json.hpp"

namespace lacuna {
namespace {

constexpr const char* kPage =
    "<!doctype html><script type=\"application/json\">{{data}}</script><p>end</p>\n";
constexpr std::string_view kBegin = "json\">";

std::string data_of(const std::string& html) {
  const std::size_t begin = html.find(kBegin) + kBegin.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

TEST(HtmlReport, HoldsItsPartsAsData) {
  HtmlReport report{"simulate", "lacuna simulate 'a b'"};
  report.build = {{"commit", "abc"}};
  report.parts = {{"simulate", "{\n  \"runs\": [1.5, null]\n}\n"}};
  const std::string html = fill_report_page(kPage, report);
  EXPECT_TRUE(html.ends_with("</script><p>end</p>\n"));
  const auto data = nlohmann::json::parse(data_of(html));
  EXPECT_EQ(data["kind"], "simulate");
  EXPECT_EQ(data["command"], "lacuna simulate 'a b'");
  EXPECT_EQ(data["build"]["commit"], "abc");
  EXPECT_EQ(data["simulate"]["runs"][0], 1.5);
}

// A name that tries to leave the element it stands in: it must read back as it was.
TEST(HtmlReport, NamesCannotEndTheScript) {
  const std::vector<std::string> names = {"</script><script>alert(1)</script>",
                                          "<!--<script>",
                                          "]]>&lt;&amp;",
                                          "{{data}}",
                                          "line\xe2\x80\xa8separator\xe2\x80\xa9s",
                                          "\xe2\x82\xac and \xe2",
                                          "quote\" backslash\\ \x01"};
  for (const std::string& name : names) {
    HtmlReport report{"inspect", "lacuna"};
    report.parts = {{"inspect", dump_json({{"name", name}})}};
    const std::string data = data_of(fill_report_page(kPage, report));
    EXPECT_EQ(data.find_first_of("<>&"), std::string::npos) << data;
    EXPECT_EQ(data.find("\xe2\x80\xa8"), std::string::npos);
    const auto wanted = Json::parse(dump_json(name)).get<std::string>();
    EXPECT_EQ(nlohmann::json::parse(data)["inspect"]["name"], wanted);
  }
}

TEST(HtmlReport, ProgramHasThePageOrSaysHowToGetIt) {
  const HtmlReport report{"simulate", "lacuna simulate x"};
  if (has_report_page()) {
    const std::string html = html_report(report);
    EXPECT_TRUE(html.starts_with("<!doctype html>"));
    EXPECT_LT(html.size(), 700'000U);
    // Nothing is fetched, whatever a name in the data says.
    EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  } else {
    EXPECT_THROW(html_report(report), InputError);
  }
}

}  // namespace
}  // namespace lacuna
