// Shared by tests: temporary files, the message of an expected error, and how many random cases to draw.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/testing/temporary_folder.hpp"

namespace lacuna {

// The message of the InputError that `action` throws, which must be one line.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  return "no error";
}

// `cases`, or one in LACUNA_FEWER_CASES of them: sanitizers take ten times as long and find the same in
// fewer.
inline std::uint64_t random_cases(std::uint64_t cases) {
  const char* fewer = std::getenv("LACUNA_FEWER_CASES");
  const std::uint64_t divisor = fewer == nullptr ? 1 : std::stoull(fewer);
  return divisor > 1 && cases > divisor ? cases / divisor : cases;
}

// Returns true in such a run, where limits on time must be wider.
inline bool runs_sanitized() { return std::getenv("LACUNA_FEWER_CASES") != nullptr; }

inline std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// A safetensors file: length, header, data.
inline std::vector<std::uint8_t> safetensors_file(const std::string& header, std::string_view data) {
  std::vector<std::uint8_t> bytes(8 + header.size() + data.size());
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  if (!data.empty()) std::memcpy(bytes.data() + 8 + header.size(), data.data(), data.size());
  return bytes;
}

}  // namespace lacuna
