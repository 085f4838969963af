// NumPy's .npy files: a magic number, a header that is a Python dictionary, raw elements.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lacuna {

// An array of F32 in C order; `data` points into the bytes that were parsed.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> data;

  // Throws InputError; `where` (the file's name) starts the message.
  static NpyArray parse(std::span<const std::uint8_t> bytes, const std::string& where);
};

}  // namespace lacuna
