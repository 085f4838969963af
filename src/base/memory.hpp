// How much memory this process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace lacuna {

// In bytes: the machine's memory, or less if a control group (a container) limits it. `root` replaces "/" in
// tests.
std::uint64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace lacuna
