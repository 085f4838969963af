// How much memory this process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace lacuna {

// In bytes: what the machine has, or what its control groups (a container's limit) leave of it. `root` stands
// for "/" in tests.
std::uint64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace lacuna
