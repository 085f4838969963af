// The bytes of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lacuna {

// Owns a block of bytes: mapped, read or decompressed.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::span<const std::uint8_t> bytes() const = 0;

  // Maps a file. Folders, pipes, sockets and devices, which may block, never end or have side effects, are
  // refused before a byte is read. Throws InputError.
  static std::unique_ptr<ByteSource> open(const std::filesystem::path& path);
  static std::unique_ptr<ByteSource> own(std::vector<std::uint8_t> bytes);
};

}  // namespace lacuna
