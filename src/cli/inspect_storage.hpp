// lacuna inspect --storage and --backside: tensors kept in TensorDash's scheduled form.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace lacuna::cli {

struct StorageOptions {
  bool storage = false;
  bool backside = false;
  std::string grouping = "blocks";
  std::string values = "fp32";
  int pointer_bits = 32;
  int run_bits = 5;
  std::int64_t schedulers = 1;
  std::int64_t block_cycles = 0;
  std::vector<std::string> settings;  // of the machine

  std::vector<CLI::Option*> only_with_storage, only_with_backside, only_with_either, with_neither;
};

void add_storage_options(CLI::App& command, StorageOptions& options);
// Throws InputError for values that are not allowed and options that do not go together.
void check_storage_options(const StorageOptions& options);
// json and csv: files, kStandardOutput or empty. summary: only totals.
void run_inspect_storage(const StorageOptions& options, const std::vector<std::string>& traces, bool summary,
                         const std::string& json, const std::string& csv);

}  // namespace lacuna::cli
