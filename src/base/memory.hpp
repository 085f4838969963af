// Memory budget of this process, and the claims on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace lacuna {

// Returns the machine's memory in bytes, or less if a control group (a container) limits it. `root` replaces
// "/" in tests.
std::uint64_t usable_memory(const std::filesystem::path& root = "/");

// Returns how many bytes this process may use: $LACUNA_MEMORY ("6G"), or three quarters of the usable memory,
// which leaves room for other programs; less if `ulimit` says so. Throws InputError for a variable that is no
// size.
std::uint64_t memory_budget();

// Makes the system refuse memory beyond the budget, so that whatever nobody asked for ends in std::bad_alloc
// and not in a machine that swaps or kills. For programs: a library leaves the limits of its process alone.
void enforce_memory_budget();

// A part of the budget, for as long as the object lives. Whatever allocates as much as a file or a shape says
// asks before it does.
class MemoryClaim {
 public:
  MemoryClaim() = default;
  // Throws InputError if less is left: "WHERE: WHAT needs 18.2 GB ..."
  MemoryClaim(double bytes, std::string_view where, std::string_view what);
  ~MemoryClaim();
  MemoryClaim(MemoryClaim&& other) noexcept;
  MemoryClaim& operator=(MemoryClaim&& other) noexcept;

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace lacuna
