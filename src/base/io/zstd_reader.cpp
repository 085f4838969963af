#include "base/io/zstd_reader.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <zstd.h>

#include "base/error.hpp"
#include "base/memory.hpp"

namespace lacuna {
namespace {

constexpr std::string_view kBrokenRemedy = "copy or record the file again";
constexpr std::string_view kMapRemedy =
    "decompress it with `zstd -d` and open the .safetensors, which is mapped, not loaded";

[[noreturn]] void too_large(const std::string& where, std::uint64_t limit) {
  throw InputError(where, fmt::format("the file decompresses to more than {} bytes", limit), kMapRemedy);
}

// The declared size of all frames together; empty if one of them declares none.
std::optional<std::uint64_t> declared_size(std::span<const std::uint8_t> compressed,
                                           const std::string& where) {
  // A block of at least 4 bytes (3 of header, 1 repeated byte) yields at most 128 KiB.
  constexpr std::uint64_t kLargestRatio = (std::uint64_t{128} << 10) / 4;
  std::uint64_t total = 0;
  bool known = true;
  for (std::size_t at = 0; at < compressed.size();) {
    const auto rest = compressed.subspan(at);
    const std::size_t length = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
    const unsigned long long size = ZSTD_getFrameContentSize(rest.data(), rest.size());
    if (ZSTD_isError(length) != 0U || size == ZSTD_CONTENTSIZE_ERROR) {
      throw InputError(where, fmt::format("the zstd frame at byte {} is damaged or cut short", at),
                       kBrokenRemedy);
    }
    known = known && size != ZSTD_CONTENTSIZE_UNKNOWN;
    if (known && size / kLargestRatio > length) {
      throw InputError(where,
                       fmt::format("the zstd frame at byte {} declares {} bytes, which {} compressed bytes "
                                   "cannot hold",
                                   at, size, length),
                       kBrokenRemedy);
    }
    if (known) total += size;
    at += length;
  }
  if (!known) return std::nullopt;
  return total;
}

}  // namespace

// Memory from malloc: unlike a vector it is not cleared first, and growing it moves pages, not bytes.
class ZstdReader::Buffer final : public ByteSource {
 public:
  Buffer() = default;
  ~Buffer() override { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::span<const std::uint8_t> bytes() const override { return {data_, filled}; }

  bool resize(std::size_t size) {
    void* moved = std::realloc(data_, std::max<std::size_t>(size, 1));
    if (moved == nullptr) return false;
    data_ = static_cast<std::uint8_t*>(moved);
    size_ = size;
    return true;
  }
  std::uint8_t* data() { return data_; }
  std::size_t size() const { return size_; }

  std::size_t filled = 0;
  MemoryClaim claim;

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

struct ZstdReader::Stream {
  Stream(std::span<const std::uint8_t> compressed, bool declared)
      : decoder(ZSTD_createDCtx()), from{compressed.data(), compressed.size(), 0} {
    // The window never exceeds the declared size, which is within the limit, so any that `zstd --long` writes
    // is accepted. Without a declared size it is at most 128 MiB, zstd's own limit.
    if (declared)
      ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax,
                             ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
  }
  ~Stream() { ZSTD_freeDCtx(decoder); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  ZSTD_DCtx* decoder;
  ZSTD_inBuffer from;
  std::size_t pending = 0;  // 0: between frames
  bool ended() const { return from.pos == from.size && pending == 0; }
};

ZstdReader::ZstdReader(std::span<const std::uint8_t> compressed, std::string where, std::uint64_t limit)
    : compressed_(compressed),
      where_(std::move(where)),
      limit_(limit),
      declared_(declared_size(compressed, where_)),
      buffer_(std::make_unique<Buffer>()),
      stream_(std::make_unique<Stream>(compressed, declared_.has_value())) {
  if (declared_ && *declared_ > limit_) too_large(where_, limit_);
}

ZstdReader::~ZstdReader() = default;

void ZstdReader::resize(std::uint64_t size) {
  buffer_->claim = {};
  buffer_->claim = MemoryClaim(static_cast<double>(size), where_, "decompressing the file");
  if (!buffer_->resize(size)) {
    throw InputError(where_, fmt::format("no memory for {} decompressed bytes", size), kMapRemedy);
  }
}

std::span<const std::uint8_t> ZstdReader::read(std::uint64_t size) {
  // One more byte than the limit shows that there is more.
  const std::uint64_t most = std::min(size, limit_ + 1 == 0 ? limit_ : limit_ + 1);
  while (buffer_->filled < most && !stream_->ended()) {
    if (buffer_->filled == buffer_->size()) {
      resize(std::min<std::uint64_t>(most, std::max<std::uint64_t>(1 << 16, buffer_->filled * 2)));
    }
    ZSTD_outBuffer to{buffer_->data(), std::min<std::uint64_t>(buffer_->size(), most), buffer_->filled};
    ZSTD_inBuffer& from = stream_->from;
    stream_->pending = ZSTD_decompressStream(stream_->decoder, &to, &from);
    if (ZSTD_isError(stream_->pending) != 0U) {
      throw InputError(where_, fmt::format("byte {}: {}", from.pos, ZSTD_getErrorName(stream_->pending)),
                       kBrokenRemedy);
    }
    // All input is consumed, there is room for more output, and the frame has still not ended.
    if (from.pos == from.size && stream_->pending != 0 && to.pos < to.size) {
      throw InputError(where_, "the compressed data ends in the middle of a frame", kBrokenRemedy);
    }
    buffer_->filled = to.pos;
  }
  if (buffer_->filled > limit_) too_large(where_, limit_);
  // zstd itself does not notice a last block that is empty.
  if (declared_ && stream_->ended() && buffer_->filled != *declared_) {
    throw InputError(where_,
                     fmt::format("the zstd frames declare {} bytes and hold {}", *declared_, buffer_->filled),
                     kBrokenRemedy);
  }
  return buffer_->bytes();
}

std::unique_ptr<ByteSource> ZstdReader::take(std::uint64_t size) {
  if (size > limit_) too_large(where_, limit_);
  if (declared_ && *declared_ == size) {
    // At once, which is faster: no window to copy from.
    resize(size);
    const std::size_t got = ZSTD_decompress(buffer_->data(), size, compressed_.data(), compressed_.size());
    if (ZSTD_isError(got) != 0U) {
      throw InputError(where_, fmt::format("decompression failed: {}", ZSTD_getErrorName(got)),
                       kBrokenRemedy);
    }
    if (got != size) {
      throw InputError(where_, fmt::format("the zstd frame declares {} bytes and holds {}", size, got),
                       kBrokenRemedy);
    }
    buffer_->filled = got;
    return std::move(buffer_);
  }
  // The last call also reads the checksum of the last frame.
  if (read(size + 1).size() > size) {
    throw InputError(
        where_, fmt::format("the file decompresses to more than the {} bytes that its header declares", size),
        kBrokenRemedy);
  }
  if (buffer_->filled < buffer_->size()) resize(buffer_->filled);
  return std::move(buffer_);
}

}  // namespace lacuna
