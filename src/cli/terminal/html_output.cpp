#include "cli/terminal/html_output.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/sha256.hpp"
#include "base/text/parse_number.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "report/html_report.hpp"
#include "report/result/json_text.hpp"

namespace lacuna::cli {
namespace {

std::string& command_line() {
  static std::string line = "lacuna";
  return line;
}

// As a shell takes it back.
std::string quoted_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

// "name: value" of `lacuna version`, without the first line.
std::vector<std::pair<std::string, std::string>> build_facts() {
  std::vector<std::pair<std::string, std::string>> facts;
  std::istringstream lines(version_text());
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) facts.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return facts;
}

std::vector<std::string> split_fields(const std::string& line) {
  std::vector<std::string> fields;
  std::string field;
  std::istringstream text(line);
  while (std::getline(text, field, ',')) fields.push_back(field);
  if (line.ends_with(',')) fields.emplace_back();
  return fields;
}

}  // namespace

void set_command_line(int argc, const char* const* argv) {
  std::string line = "lacuna";
  for (int i = 1; i < argc; ++i) line += fmt::format(" {}", quoted_word(argv[i]));
  command_line() = line;
}

void check_html(const std::string& file, const std::vector<std::string>& inputs,
                const std::vector<std::string>& others) {
  if (file.empty()) return;
  if (file == kStandardOutput)
    throw InputError("--html -", "the page does not go to standard output", "give the name of a file");
  require_report_page();
  if (std::ranges::find(others, file) != others.end())
    throw InputError("--html", "another result goes to the same file", "give each a file of its own");
  check_can_write(file, "--html", inputs);
}

void write_html(const std::filesystem::path& file, const std::string& kind,
                std::vector<std::pair<std::string, std::string>> parts) {
  write_file(file, html_report({kind, command_line(), build_facts(), std::move(parts)}));
}

std::string files_part(const std::vector<std::string>& traces) {
  std::string items;
  for (const std::string& trace : traces) {
    JsonLine line;
    line.field("trace", std::string_view(trace));
    std::error_code ignored;
    // A folder of arrays has no sum of its own.
    if (std::filesystem::is_regular_file(trace, ignored))
      line.field("bytes", static_cast<std::int64_t>(std::filesystem::file_size(trace, ignored)))
          .field("sha256", std::string_view(sha256_of_file(trace)));
    items += fmt::format("{}{}", items.empty() ? "" : ", ", line.text());
  }
  return fmt::format("[{}]", items);
}

std::string train_part(const std::string& config, const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = split_fields(line);
  std::string rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split_fields(line);
    JsonLine row;
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) {
      const auto value = parse_number<double>(fields[i]);
      row.raw(names[i], value ? json_number(*value) : "null");
    }
    rows += fmt::format("{}{}", rows.empty() ? "" : ", ", row.text());
  }
  return fmt::format("{{\"config\": {}, \"log\": [{}]}}", config, rows);
}

std::string kernels_part(const train::KernelTimes& times) {
  std::string rows;
  for (const train::LayerTimes& layer : times.layers)
    for (const Operation op : kOperations)
      rows += fmt::format("{}{}", rows.empty() ? "" : ", ",
                          JsonLine()
                              .field("layer", std::string_view(layer.name))
                              .field("op", operation_name(op))
                              .field("dense_ms", layer.dense[op])
                              .field("sparse_ms", layer.other[op])
                              .text());
  return JsonLine()
      .field("batch", times.batch)
      .field("steps", std::int64_t{times.steps})
      .field("kernels", std::string_view(train::kernels_name(times.kernels)))
      .field("layers_speedup", times.layers_speedup)
      .field("step_speedup", times.step_speedup)
      .field("dense_step_ms", times.dense_step_ms)
      .field("other_step_ms", times.other_step_ms)
      .raw("layers", fmt::format("[{}]", rows))
      .text();
}

}  // namespace lacuna::cli
