// The report's page (web/) with results in it: one file that needs nothing else, for `--html`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna {

// Contents of the page. The names of the parts are those of web/src/data.ts.
struct HtmlReport {
  std::string kind;                                          // the command: "simulate"
  std::string command;                                       // as it was typed
  std::vector<std::pair<std::string, std::string>> build{};  // what made it: commit, compiler
  std::vector<std::pair<std::string, std::string>> parts{};  // name and JSON
};

// False if the program was built without npm or its packages.
bool has_report_page();

// Throws InputError, which says how to get the page, if there is none.
void require_report_page();
std::string html_report(const HtmlReport& report);

// `page` with the data in its gap.
std::string fill_report_page(std::string_view page, const HtmlReport& report);

// JSON that can stand in a <script> element: nothing in it ends the element, begins a comment or is a line
// separator. It reads back as the same JSON.
std::string json_in_script(std::string_view json);

}  // namespace lacuna
