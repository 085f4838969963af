// Shared by the tests of this folder: hand-made files.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing.hpp"

namespace lacuna {

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
