#include "dataset/readers/gzip.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <zlib.h>

#include "base/error.hpp"

namespace lacuna::dataset {
namespace {

constexpr const char* kRemedy = "get or copy the file again";

class Inflater {
 public:
  Inflater(ByteView compressed, const std::string& where) : rest_(compressed), where_(where) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) {
      throw InputError(where, "no memory for decompression", "free some memory and try again");
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Writes up to `count` bytes; fewer only at the end of the file.
  std::size_t read(std::uint8_t* to, std::size_t count) {
    std::size_t written = 0;
    while (written < count) {
      if (ended_) {
        // A gzip file may be several, one after the other.
        if (rest_.empty()) break;
        inflateReset(&stream_);
        ended_ = false;
      }
      // zlib counts in 32 bits.
      constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
      const std::size_t offered = std::min(rest_.size(), kMost);
      const std::size_t room = std::min(count - written, kMost);
      stream_.next_in = const_cast<Bytef*>(rest_.data());  // zlib does not write there
      stream_.avail_in = static_cast<uInt>(offered);
      stream_.next_out = to + written;
      stream_.avail_out = static_cast<uInt>(room);
      const int code = inflate(&stream_, Z_NO_FLUSH);
      rest_ = rest_.subspan(offered - stream_.avail_in);
      written += room - stream_.avail_out;
      if (code == Z_STREAM_END) {
        ended_ = true;
      } else if (code == Z_BUF_ERROR || (code == Z_OK && rest_.empty() && stream_.avail_out > 0)) {
        throw InputError(where_, "the compressed data end too early", kRemedy);
      } else if (code != Z_OK) {
        throw InputError(where_,
                         fmt::format("the compressed data are damaged ({})",
                                     stream_.msg != nullptr ? stream_.msg : "zlib gives no reason"),
                         kRemedy);
      }
    }
    return written;
  }

 private:
  z_stream stream_{};
  ByteView rest_;
  const std::string& where_;
  bool ended_ = false;
};

}  // namespace

bool is_gzip(ByteView bytes) { return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

Bytes gunzip_start(ByteView compressed, std::size_t count, const std::string& where) {
  Bytes bytes(count);
  bytes.resize(Inflater(compressed, where).read(bytes.data(), count));
  return bytes;
}

Bytes gunzip(ByteView compressed, std::uint64_t size, const std::string& where) {
  if (size / kLargestInflation > compressed.size()) {
    throw InputError(where, fmt::format("{} compressed bytes cannot hold {}", compressed.size(), size),
                     kRemedy);
  }
  Bytes bytes(size);
  Inflater inflater(compressed, where);
  const std::size_t got = inflater.read(bytes.data(), bytes.size());
  // No byte may follow; asking for one makes zlib check the sum at the end.
  std::uint8_t beyond = 0;
  if (got < size || inflater.read(&beyond, 1) > 0) {
    throw InputError(where,
                     fmt::format("the file decompresses to {} bytes, its header needs {}",
                                 got < size ? fmt::format("{}", got) : "more", size),
                     kRemedy);
  }
  return bytes;
}

}  // namespace lacuna::dataset
