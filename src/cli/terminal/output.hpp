// Results that go to a file or, for "-", to standard output; and the page of `--html FILE`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/io/output_file.hpp"

namespace lacuna::train {
struct KernelTimes;
}

namespace lacuna::cli {

inline constexpr std::string_view kStandardOutput = "-";

// Writes the text: whole or not at all (OutputFile), on a terminal without what is unsafe there. Throws
// InputError.
void write_result(const std::string& file, std::string_view text);

// Throws InputError if the file's folder is not there or cannot be written, so that this is known before a
// long simulation and not after it. `option` starts the message.
// Nor may it be one of the `inputs`, which would be lost.
void check_can_write(const std::string& file, std::string_view option,
                     const std::vector<std::string>& inputs = {});

// The files of --json, --csv and --html; empty: none.
struct ResultFiles {
  std::string json, csv, html;

  // Throws InputError, before anything is computed, if one of them cannot be written, two are the same, one
  // is an input, or this program has no page.
  void check(const std::vector<std::string>& inputs) const;
  // True if standard output is taken: no tables are printed.
  bool quiet() const { return json == kStandardOutput || csv == kStandardOutput; }
};
// The same for --html alone; `others` are written as well.
void check_html(const std::string& file, const std::vector<std::string>& inputs = {},
                const std::vector<std::string>& others = {});

// main() says what was typed: the page quotes it.
void set_command_line(int argc, const char* const* argv);

// Whole or not at all. `parts`: names and JSON, as web/src/data.ts has them.
void write_html(const std::filesystem::path& file, const std::string& kind,
                std::vector<std::pair<std::string, std::string>> parts,
                OutputFile::Links links = OutputFile::Links::kFollow);

// Parts of the page that no command prints as JSON: traces with their size and SHA-256, a log of training,
// and what the kernels took.
std::string files_part(const std::vector<std::string>& traces);
std::string train_part(const std::string& config, const std::filesystem::path& log);
std::string kernels_part(const train::KernelTimes& times);

}  // namespace lacuna::cli
