// The bytes of a file that may be compressed.
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

  // Maps the file; what cannot be mapped (a pipe) is read. Throws InputError.
  static std::unique_ptr<ByteSource> open(const std::filesystem::path& path);
  static std::unique_ptr<ByteSource> own(std::vector<std::uint8_t> bytes);
};

// True if the bytes start like a zstd file. No safetensors file does: read as its header length, the magic
// number exceeds the largest header that the format allows.
bool is_zstd(std::span<const std::uint8_t> bytes);

// Decompresses all frames. A file that would grow beyond `limit` bytes is refused, and a declared size
// that is impossible for a zstd file of that length is refused before anything is allocated. Throws
// InputError; `where` starts the message.
std::unique_ptr<ByteSource> decompress_zstd(std::span<const std::uint8_t> compressed,
                                            const std::string& where, std::uint64_t limit);

}  // namespace lacuna
