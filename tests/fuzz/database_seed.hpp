// A file of results for fuzz_database.
#pragma once

#include <filesystem>

namespace lacuna {

void write_database(const std::filesystem::path& file);

}  // namespace lacuna
