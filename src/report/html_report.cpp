#include "report/html_report.hpp"

#include <fmt/format.h>
#include <span>

#include "base/error.hpp"
#include "base/io/embedded_file.hpp"
#include "base/text/json.hpp"
#include "base/version.hpp"

namespace lacuna {

std::span<const EmbeddedFile> embedded_report_page();  // lacuna_embed()

namespace {

constexpr std::string_view kDataGap = "{{data}}";  // web/src/page.html

std::string_view built_in_page() {
  const auto files = embedded_report_page();
  return files.empty() ? std::string_view() : files.front().bytes;
}

}  // namespace

bool has_report_page() { return !built_in_page().empty(); }

void require_report_page() {
  if (has_report_page()) return;
  throw InputError("--html", "this program was built without the report's page, which npm bundles",
                   "install nodejs and npm, configure and build again (cmake --preset release && ninja -C "
                   "build/release); --json needs nothing");
}

std::string json_in_script(std::string_view json) {
  std::string safe;
  safe.reserve(json.size() + json.size() / 64);
  for (std::size_t i = 0; i < json.size(); ++i) {
    // All of these only occur inside strings.
    switch (json[i]) {
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      case '&':
        safe += "\\u0026";
        break;
      case '\xe2':  // U+2028 and U+2029 end a line in old JavaScript
        if (const std::string_view three = json.substr(i, 3);
            three == "\xe2\x80\xa8" || three == "\xe2\x80\xa9") {
          safe += three.back() == '\xa8' ? "\\u2028" : "\\u2029";
          i += 2;
          break;
        }
        [[fallthrough]];
      default:
        safe += json[i];
    }
  }
  return safe;
}

std::string fill_report_page(std::string_view page, const HtmlReport& report) {
  Json data{{"kind", report.kind}, {"command", report.command}, {"lacuna", std::string(version())}};
  Json& build = data["build"] = Json::object();
  for (const auto& [name, value] : report.build) build[name] = value;
  for (const auto& [name, json] : report.parts) data[name] = Json::parse(json);
  const std::size_t gap = page.find(kDataGap);
  if (gap == std::string_view::npos)
    throw InputError("--html", "the page in this program has no place for data", "build it again");
  std::string html(page.substr(0, gap));
  html += json_in_script(data.dump(-1, ' ', false, Json::error_handler_t::replace));
  html += page.substr(gap + kDataGap.size());
  return html;
}

std::string html_report(const HtmlReport& report) {
  require_report_page();
  return fill_report_page(built_in_page(), report);
}

}  // namespace lacuna
