// Finds names among many. Whatever the names, building takes n log n: a hash table could be given a million
// names that fall into one of its buckets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace lacuna {

class NameIndex {
 public:
  // `name(i)` gives the name of entry i; the names must outlive the index.
  template <typename Name>
  NameIndex(std::size_t count, const Name& name) {
    entries_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view text = name(i);
      entries_.push_back({hash_text(text), text, i});
    }
    std::ranges::sort(entries_, less);
  }

  std::optional<std::size_t> find(std::string_view name) const {
    const Entry wanted{hash_text(name), name, 0};
    const auto at = std::ranges::lower_bound(entries_, wanted, less);
    if (at == entries_.end() || at->hash != wanted.hash || at->name != name) return std::nullopt;
    return at->position;
  }

  // A name that is there twice.
  std::optional<std::string_view> repeated() const {
    const auto same = [](const Entry& a, const Entry& b) { return a.hash == b.hash && a.name == b.name; };
    const auto at = std::ranges::adjacent_find(entries_, same);
    if (at == entries_.end()) return std::nullopt;
    return at->name;
  }

 private:
  struct Entry {
    std::uint64_t hash;
    std::string_view name;
    std::size_t position;
  };
  static bool less(const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.name < b.name;
  }

  std::vector<Entry> entries_;
};

}  // namespace lacuna
