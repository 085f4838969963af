// The page of `--html FILE`, for every command that has one.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "train/run/kernel_times.hpp"

namespace lacuna::cli {

// main() says what was typed: the page quotes it.
void set_command_line(int argc, const char* const* argv);

// Whole or not at all. `parts`: names and JSON, as web/src/data.ts has them.
void write_html(const std::filesystem::path& file, const std::string& kind,
                std::vector<std::pair<std::string, std::string>> parts);

// Parts of the page that no command prints as JSON: traces with their size and SHA-256, a log of training,
// and what the kernels took.
std::string files_part(const std::vector<std::string>& traces);
std::string train_part(const std::string& config, const std::filesystem::path& log);
std::string kernels_part(const train::KernelTimes& times);

}  // namespace lacuna::cli
