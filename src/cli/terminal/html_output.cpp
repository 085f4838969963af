#include <fmt/format.h>

#include "base/io/byte_source.hpp"
#include "base/io/input_files.hpp"
#include "base/io/output_file.hpp"
#include "base/io/sha256/sha256.hpp"
#include "base/text/csv.hpp"
#include "base/text/json.hpp"
#include "base/text/parse_number.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/html_report.hpp"

namespace lacuna::cli {
namespace {

std::string& command_line() {
  static std::string line = "lacuna";
  return line;
}

}  // namespace

void set_command_line(int argc, const char* const* argv) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
  std::string line = "lacuna";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos;
    line += fmt::format(" {}", plain ? std::string(word) : shell_quote(word));
  }
  command_line() = line;
}

void write_html(const std::filesystem::path& file, const std::string& kind,
                std::vector<std::pair<std::string, std::string>> parts, OutputFile::Links links) {
  write_file(file, html_report({kind, command_line(), build_facts(), std::move(parts)}), links);
  reserve_name(file);  // no other result of this command goes there
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
  Json part{{"config", Json::parse(config)}, {"log", Json::array()}};
  const CsvTable table = CsvTable::parse(ByteSource::open(log)->text(), log.string());
  for (const CsvTable::Row& line : table.rows) {
    Json row = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const auto value = parse_number<double>(line.cells[i]);
      row[table.columns[i]] = value ? number_json(*value) : Json();
    }
    part["log"].push_back(std::move(row));
  }
  return dump_json(part);
}

}  // namespace lacuna::cli
