// A trace as a folder: `layers.csv` and one .npy file per tensor. docs/trace-format.md lists the columns.
#pragma once

#include <filesystem>

#include "trace/trace.hpp"

namespace lacuna {

// Throws InputError.
Trace open_npy_folder(const std::filesystem::path& folder);

}  // namespace lacuna
