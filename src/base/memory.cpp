#include "base/memory.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/text/quote.hpp"

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
      // If version 1 is mounted too, version 2 is one folder further down.
      for (const fs::path& hierarchy : {groups, groups / "unified"})
        smallest = std::min(smallest, smallest_limit(hierarchy, group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      smallest = std::min(smallest, smallest_limit(groups / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return smallest;
}

// "1500M": bytes, or with a letter the multiples of 1024 that tools of Linux mean by it.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kLetters = "KMGT";
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  const std::size_t power = unit.empty() ? 0 : kLetters.find(unit.front()) + 1;
  if (error != std::errc() || unit.size() > 1 || (!unit.empty() && power == 0)) return std::nullopt;
  if (number == 0 || number > kUnlimited >> (10 * power)) return std::nullopt;
  return number << (10 * power);
}

std::uint64_t chosen_budget() {
  const char* chosen = std::getenv("LACUNA_MEMORY");
  if (chosen == nullptr || *chosen == '\0') return usable_memory() / 4 * 3;
  if (const auto bytes = parse_size(chosen)) return *bytes;
  throw InputError("LACUNA_MEMORY", quote_name(chosen) + " is not a size of memory",
                   "write bytes, or 1500M, or 6G");
}

std::atomic<std::uint64_t> claimed = 0;

}  // namespace

std::uint64_t memory_budget() {
  std::uint64_t budget = chosen_budget();
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit set{};
    if (::getrlimit(resource, &set) == 0 && set.rlim_cur != RLIM_INFINITY)
      budget = std::min<std::uint64_t>(budget, set.rlim_cur);
  }
  return budget;
}

void enforce_memory_budget() {
#if defined(__SANITIZE_ADDRESS__)
  // Its shadow memory counts as data.
#elif defined(__has_feature)
#if !__has_feature(address_sanitizer)
#define LACUNA_LIMITS_DATA
#endif
#else
#define LACUNA_LIMITS_DATA
#endif
#ifdef LACUNA_LIMITS_DATA
  rlimit set{};
  if (::getrlimit(RLIMIT_DATA, &set) != 0) return;
  set.rlim_cur = std::min<rlim_t>(set.rlim_cur, memory_budget());
  ::setrlimit(RLIMIT_DATA, &set);
#endif
}

MemoryClaim::MemoryClaim(double bytes, std::string_view where, std::string_view what) {
  static const std::uint64_t budget = memory_budget();  // reads files: once
  std::uint64_t before = claimed;
  const auto fits = [&] { return bytes <= static_cast<double>(budget) - static_cast<double>(before); };
  while (fits() && !claimed.compare_exchange_weak(before, before + static_cast<std::uint64_t>(bytes))) {
  }
  if (!fits()) {
    constexpr double kGigabyte = 1e9;
    throw InputError(
        where,
        fmt::format("{} needs {:.2g} GB of memory, and {:.2g} of {:.2g} GB are left", what, bytes / kGigabyte,
                    static_cast<double>(budget - std::min(budget, before)) / kGigabyte,
                    static_cast<double>(budget) / kGigabyte),
        "use smaller sizes or fewer threads; LACUNA_MEMORY=SIZE sets another limit than three "
        "quarters of the memory of the machine or the container");
  }
  bytes_ = static_cast<std::uint64_t>(bytes);
}

MemoryClaim::~MemoryClaim() { claimed -= bytes_; }

MemoryClaim::MemoryClaim(MemoryClaim&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}

MemoryClaim& MemoryClaim::operator=(MemoryClaim&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::uint64_t usable_memory(const fs::path& root) {
  return std::min(installed_memory(root), group_limit(root));
}

}  // namespace lacuna
