// Hashes whose values are part of files and results: equal on every machine, not secure against an adversary.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace lacuna {

// FNV-1a.
inline std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// Eight bytes at a time, for large blocks; continues from `hash`.
inline std::uint64_t hash_bytes(std::span<const std::uint8_t> bytes,
                                std::uint64_t hash = 0x9e3779b97f4a7c15ULL) {
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0xbf58476d1ce4e5b9ULL;
    hash ^= hash >> 29;
  };
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  for (; i < bytes.size(); ++i) mix(bytes[i] + 0x100ULL);
  return hash;
}

}  // namespace lacuna
