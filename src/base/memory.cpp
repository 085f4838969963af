#include "base/memory.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>

namespace lacuna {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// The number that a text starts with, after blanks.
std::optional<std::uint64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

std::uint64_t installed_memory(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  constexpr std::string_view kKey = "MemTotal:";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    const auto kibibytes = leading_number(std::string_view(line).substr(kKey.size()));
    if (kibibytes && *kibibytes > 0 && *kibibytes < kUnlimited / 1024) return *kibibytes * 1024;
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return std::uint64_t{4} << 30;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

// "max" means no limit; so does a file that cannot be read.
std::uint64_t limit_in(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  const auto limit = leading_number(text);
  return limit && *limit > 0 ? *limit : kUnlimited;
}

// A group's limit holds for the groups below it. A container may see its own group as the root of the
// hierarchy while the kernel reports the path on the host: folders that do not exist are skipped.
std::uint64_t smallest_limit(const fs::path& hierarchy, const fs::path& group, const char* file) {
  std::uint64_t smallest = limit_in(hierarchy / file);
  fs::path folder = hierarchy;
  for (const fs::path& part : group.relative_path()) {
    folder /= part;
    smallest = std::min(smallest, limit_in(folder / file));
  }
  return smallest;
}

// Lines "ID:CONTROLLERS:PATH"; version 2 has no controllers (cgroups(7)).
std::uint64_t group_limit(const fs::path& root) {
  const fs::path groups = root / "sys/fs/cgroup";
  std::uint64_t smallest = kUnlimited;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") {
      // Where version 1 is mounted too, version 2 is one folder further down.
      for (const fs::path& hierarchy : {groups, groups / "unified"})
        smallest = std::min(smallest, smallest_limit(hierarchy, group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      smallest = std::min(smallest, smallest_limit(groups / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return smallest;
}

}  // namespace

std::uint64_t usable_memory(const fs::path& root) {
  return std::min(installed_memory(root), group_limit(root));
}

}  // namespace lacuna
