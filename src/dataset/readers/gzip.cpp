#include "dataset/readers/gzip.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <zlib.h>

#include "base/error.hpp"
#include "base/memory.hpp"

namespace lacuna::dataset {
namespace {

constexpr const char* kRemedy = "get or copy the file again";

}  // namespace

bool is_gzip(ByteView bytes) { return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

Bytes gunzip_start(ByteView rest, std::size_t count, const std::string& where) {
  constexpr int kGzipOnly = 16;
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK)
    throw InputError(where, "no memory for decompression", "free some memory and try again");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, inflateEnd);
  const MemoryClaim claim(static_cast<double>(count), where, "decompressing the file");
  Bytes bytes(count);
  std::size_t written = 0;
  for (bool ended = false; written < count && !(ended && rest.empty());) {
    if (ended) inflateReset(&stream);  // a gzip file may be several, one after the other
    // zlib counts in 32 bits.
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const std::size_t offered = std::min(rest.size(), kMost);
    const std::size_t room = std::min(count - written, kMost);
    stream.next_in = const_cast<Bytef*>(rest.data());  // zlib does not write there
    stream.avail_in = static_cast<uInt>(offered);
    stream.next_out = bytes.data() + written;
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    rest = rest.subspan(offered - stream.avail_in);
    written += room - stream.avail_out;
    ended = code == Z_STREAM_END;
    if (code == Z_BUF_ERROR || (code == Z_OK && rest.empty() && stream.avail_out > 0))
      throw InputError(where, "the compressed data end too early", kRemedy);
    if (code != Z_OK && !ended)
      throw InputError(where,
                       fmt::format("the compressed data are damaged ({})",
                                   stream.msg != nullptr ? stream.msg : "zlib gives no reason"),
                       kRemedy);
  }
  bytes.resize(written);
  return bytes;
}

Bytes gunzip(ByteView compressed, std::uint64_t size, const std::string& where) {
  if (size / kLargestInflation > compressed.size())
    throw InputError(where, fmt::format("{} compressed bytes cannot hold {}", compressed.size(), size),
                     kRemedy);
  // No byte may follow; asking for one makes zlib check the sum at the end.
  Bytes bytes = gunzip_start(compressed, size + 1, where);
  if (bytes.size() != size)
    throw InputError(where,
                     fmt::format("the file decompresses to {} bytes, its header needs {}",
                                 bytes.size() < size ? fmt::format("{}", bytes.size()) : "more", size),
                     kRemedy);
  return bytes;
}

}  // namespace lacuna::dataset
