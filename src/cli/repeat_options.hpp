// Options that take several words in a row: `--set rows=8 tiles=1`, `--config a.yaml b.yaml`.
#pragma once

#include <string>
#include <vector>

namespace lacuna::cli {

// Returns the words with `--set` in front of each further assignment that follows one, and `--config` in
// front of each further .yaml file, so that what stands behind them (a trace) stays a separate argument.
// An assignment whose name is that of a file is a file.
std::vector<std::string> repeat_options(const std::vector<std::string>& words);

}  // namespace lacuna::cli
