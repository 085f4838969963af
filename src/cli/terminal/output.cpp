#include "cli/terminal/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/input_files.hpp"
#include "base/io/output_file.hpp"
#include "base/text/quote.hpp"
#include "cli/terminal/terminal.hpp"
#include "kernels/choice/cost_model.hpp"
#include "report/html_report.hpp"

namespace lacuna::cli {

namespace {

// Returns true if both names are of one file, which need not exist yet.
bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code ignored;
  const auto whole = [&](const std::string& name) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(name, ignored), ignored);
  };
  return whole(a) == whole(b);
}

}  // namespace

void write_result(const std::string& file, std::string_view text) {
  if (file != kStandardOutput) {
    write_file(file, text);
    return reserve_name(file);  // no other result of this command goes there
  }
  check_watched_files();
  // Colours in it would be those of a file.
  print_text(::isatty(STDOUT_FILENO) == 1 ? printable_lines(text) : std::string(text));
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
  // By whatever name. OutputFile asks again when everything has been read.
  for (const std::string& input : inputs) {
    add_input_file(input);
    for (std::filesystem::directory_iterator at(input, ignored), end; !ignored && at != end;
         at.increment(ignored)) {
      // A trace as a folder may also have results of an earlier run.
      if (at->path().extension() == ".npy" || at->path().filename() == "layers.csv")
        add_input_file(at->path());
    }
  }
  if (is_input_file(path)) fail("this is an input", "write to another file");
  if (is_reserved_name(path) || same_file(file, kernels::CostCache::default_path()))
    fail("the program keeps something else there", "write to another file");
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
  if (!json.empty() && json != kStandardOutput && same_file(json, csv)) {
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
  if (std::ranges::any_of(others, [&](const std::string& other) { return same_file(file, other); }))
    throw InputError("--html", "another result goes to the same file", "give each its own file");
  check_can_write(file, "--html", inputs);
}

}  // namespace lacuna::cli
