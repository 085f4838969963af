// A zstd file that is decompressed on demand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/io/byte_source.hpp"

namespace lacuna {

// True if the bytes start like a zstd file. No safetensors file does: read as its header length, the magic
// number exceeds the largest header that the format allows.
bool is_zstd(std::span<const std::uint8_t> bytes);

// All frames of a file one after the other. Its memory never exceeds `limit` bytes and what zstd needs for
// itself. Everything throws InputError; `where` starts the message.
class ZstdReader {
 public:
  // Refuses a declared size that is beyond the limit or impossible for a file of that length.
  ZstdReader(std::span<const std::uint8_t> compressed, std::string where, std::uint64_t limit);
  ~ZstdReader();
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;

  // The decompressed size, if every frame declares its own.
  std::optional<std::uint64_t> declared() const { return declared_; }

  // Decompresses until `size` bytes are there or the file ends, and returns what is there.
  std::span<const std::uint8_t> read(std::uint64_t size);

  // The whole file. A file that holds more than `size` bytes is refused.
  std::unique_ptr<ByteSource> take(std::uint64_t size);

 private:
  class Buffer;
  struct Stream;
  void resize(std::uint64_t size);

  std::span<const std::uint8_t> compressed_;
  std::string where_;
  std::uint64_t limit_;
  std::optional<std::uint64_t> declared_;
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace lacuna
