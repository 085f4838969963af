// The bytes of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// Owns a block of bytes: mapped, read or decompressed.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::span<const std::uint8_t> bytes() const = 0;
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes().data()), bytes().size()}; }

  // Reads a file, or maps it. Folders, pipes, sockets and devices, which may block, never end or have side
  // effects, are refused before a byte is read. Throws InputError.
  static std::unique_ptr<ByteSource> open(const std::filesystem::path& path);
  // Files are mapped from now on, for programs that handle SIGBUS: the system sends it when a mapped file
  // becomes shorter, and it ends a process that only wanted to use this library.
  static void map_files();
  static std::unique_ptr<ByteSource> own(std::vector<std::uint8_t> bytes);
};

// Reads a file as ByteSource::open() does, at most its first `most` bytes.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t most = UINT64_MAX);

}  // namespace lacuna
