#include "cli/terminal/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/html_report.hpp"

namespace lacuna::cli {

void write_result(const std::string& file, std::string_view text) {
  if (file != kStandardOutput) return write_file(file, text);
  print_text(text);
  flush_output();
}

void check_can_write(const std::string& file, std::string_view option,
                     const std::vector<std::string>& inputs) {
  if (file.empty() || file == kStandardOutput) return;
  const auto fail = [&](const std::string& cause, std::string_view remedy) {
    throw InputError(fmt::format("{} {}", option, file), cause, remedy);
  };
  std::error_code ignored;
  const std::filesystem::path path(file);
  for (const std::string& input : inputs) {
    // By whatever name: links too. Devices (/dev/null) do not change by what is written to them.
    if (std::filesystem::is_regular_file(path, ignored) && std::filesystem::equivalent(path, input, ignored))
      fail("this is an input", "write to another file");
  }
  if (std::filesystem::is_directory(path, ignored)) fail("this is a folder", "give the name of a file");
  std::filesystem::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    fail(fmt::format("there is no folder '{}'", folder.string()), "create it or write elsewhere");
  }
  const bool device =
      std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
  if (::access(device ? path.c_str() : folder.c_str(), W_OK) != 0) {
    fail(fmt::format("cannot write there: {}", std::strerror(errno)), "write elsewhere");
  }
}

void ResultFiles::check(const std::vector<std::string>& inputs) const {
  if (json == kStandardOutput && csv == kStandardOutput) {
    throw InputError("--csv -", "--json already goes to standard output", "give one of them a file");
  }
  if (!json.empty() && json != kStandardOutput && json == csv) {
    throw InputError("--csv", "--json goes to the same file", "give each its own file");
  }
  check_can_write(json, "--json", inputs);
  check_can_write(csv, "--csv", inputs);
  check_html(html, inputs, {json, csv});
}

void check_html(const std::string& file, const std::vector<std::string>& inputs,
                const std::vector<std::string>& others) {
  if (file.empty()) return;
  if (file == kStandardOutput)
    throw InputError("--html -", "the page does not go to standard output", "give the name of a file");
  require_report_page();
  if (std::ranges::find(others, file) != others.end())
    throw InputError("--html", "another result goes to the same file", "give each its own file");
  check_can_write(file, "--html", inputs);
}

}  // namespace lacuna::cli
