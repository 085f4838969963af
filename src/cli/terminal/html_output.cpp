#include "cli/terminal/html_output.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/sha256.hpp"
#include "base/text/json.hpp"
#include "base/text/parse_number.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "report/html_report.hpp"

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
    throw InputError("--html", "another result goes to the same file", "give each its own file");
  check_can_write(file, "--html", inputs);
}

void write_html(const std::filesystem::path& file, const std::string& kind,
                std::vector<std::pair<std::string, std::string>> parts) {
  write_file(file, html_report({kind, command_line(), build_facts(), std::move(parts)}));
}

std::string files_part(const std::vector<std::string>& traces) {
  Json files = Json::array();
  for (const std::string& trace : traces) {
    Json& file = files.emplace_back(Json{{"trace", trace}});
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(trace, ignored)) continue;  // a folder of arrays has no checksum
    file["bytes"] = std::filesystem::file_size(trace, ignored);
    file["sha256"] = sha256_of_file(trace);
  }
  return dump_json(files);
}

std::string train_part(const std::string& config, const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = split_fields(line);
  Json part{{"config", Json::parse(config)}, {"log", Json::array()}};
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split_fields(line);
    Json row = Json::object();
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) {
      const auto value = parse_number<double>(fields[i]);
      row[names[i]] = value ? number_json(*value) : Json();
    }
    part["log"].push_back(std::move(row));
  }
  return dump_json(part);
}

std::string kernels_part(const train::KernelTimes& times) {
  Json layers = Json::array();
  for (const train::LayerTimes& layer : times.layers) {
    for (const Operation op : kOperations)
      layers.push_back({{"layer", layer.name},
                        {"op", operation_name(op)},
                        {"dense_ms", number_json(layer.dense[op])},
                        {"sparse_ms", number_json(layer.other[op])}});
  }
  return dump_json({{"batch", times.batch},
                    {"steps", times.steps},
                    {"kernels", train::kernels_name(times.kernels)},
                    {"layers_speedup", number_json(times.layers_speedup)},
                    {"step_speedup", number_json(times.step_speedup)},
                    {"dense_step_ms", number_json(times.dense_step_ms)},
                    {"other_step_ms", number_json(times.other_step_ms)},
                    {"layers", std::move(layers)}});
}

}  // namespace lacuna::cli
