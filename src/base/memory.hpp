// How much memory this process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace lacuna {

// Returns the machine's memory in bytes, or less if a control group (a container) limits it. `root` replaces
// "/" in tests.
std::uint64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace lacuna
