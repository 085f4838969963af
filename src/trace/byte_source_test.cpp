#include "trace/byte_source.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <zstd.h>

#include "trace/testing.hpp"
#include "trace/trace.hpp"

namespace lacuna {
namespace {

constexpr std::uint64_t kLimit = 1 << 24;

std::vector<std::uint8_t> compress(const std::vector<std::uint8_t>& bytes, bool with_size) {
  ZSTD_CCtx* encoder = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(encoder, ZSTD_c_contentSizeFlag, with_size ? 1 : 0);
  ZSTD_CCtx_setParameter(encoder, ZSTD_c_checksumFlag, 1);
  std::vector<std::uint8_t> out(ZSTD_compressBound(bytes.size()));
  out.resize(ZSTD_compress2(encoder, out.data(), out.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(encoder);
  return out;
}

std::vector<std::uint8_t> noise(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::uint32_t state = 1;
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 28);
  return bytes;
}

std::vector<std::uint8_t> decompressed(const std::vector<std::uint8_t>& bytes, std::uint64_t limit = kLimit) {
  const auto source = decompress_zstd(bytes, "f", limit);
  return {source->bytes().begin(), source->bytes().end()};
}

TEST(Zstd, WithAndWithoutADeclaredSizeAndInSeveralFrames) {
  for (const std::size_t size : {0UL, 1UL, 100UL, 65536UL, 300000UL}) {
    const auto bytes = noise(size);
    EXPECT_EQ(decompressed(compress(bytes, true)), bytes) << size;
    EXPECT_EQ(decompressed(compress(bytes, false)), bytes) << size;
    for (const bool with_size : {false, true}) {
      auto two = compress(bytes, true);
      const auto second = compress(bytes, with_size);
      two.insert(two.end(), second.begin(), second.end());
      auto twice = bytes;
      twice.insert(twice.end(), bytes.begin(), bytes.end());
      EXPECT_EQ(decompressed(two), twice) << size << with_size;
    }
  }
}

TEST(Zstd, RefusesDamageAndTruncation) {
  const auto bytes = noise(5000);
  for (const bool with_size : {false, true}) {
    const auto good = compress(bytes, with_size);
    for (std::size_t size = 0; size < good.size(); size += 7) {
      const std::vector<std::uint8_t> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
      const std::string message = error_of([&] { decompressed(cut); });
      if (size == 0) continue;  // no frame at all: empty, which the safetensors reader refuses
      EXPECT_EQ(message, "f: the zstd frame at byte 0 is damaged or cut short; copy or record the file again")
          << size;
    }
    auto changed = good;
    changed[good.size() - 1] ^= 1;  // the checksum
    const std::string message = error_of([&] { decompressed(changed); });
    EXPECT_NE(message.find("Restored data doesn't match checksum"), std::string::npos) << message;
    EXPECT_NE(message.find("; copy or record the file again"), std::string::npos) << message;
  }
  auto trailing = compress(bytes, true);
  const std::string at = std::to_string(trailing.size());
  trailing.push_back('x');
  EXPECT_EQ(error_of([&] { decompressed(trailing); }),
            "f: the zstd frame at byte " + at + " is damaged or cut short; copy or record the file again");
}

TEST(Zstd, RefusesWhatGrowsBeyondTheLimit) {
  const std::vector<std::uint8_t> zeros(1 << 20);
  const std::string message =
      "f: the file decompresses to more than 1000000 bytes; decompress it with `zstd -d` and open the "
      ".safetensors, "
      "which is mapped, not loaded";
  EXPECT_EQ(error_of([&] { decompressed(compress(zeros, true), 1000000); }), message);
  EXPECT_EQ(error_of([&] { decompressed(compress(zeros, false), 1000000); }), message);
  EXPECT_EQ(decompressed(compress(zeros, false), 1 << 20), zeros);
  EXPECT_EQ(decompressed(compress(zeros, true), 1 << 20), zeros);
}

// A frame header may claim any size; the blocks that follow bound what it can be.
TEST(Zstd, RefusesASizeThatTheBytesCannotHold) {
  // magic, descriptor (8-byte size, single segment), size 2^50, one empty last raw block
  const std::vector<std::uint8_t> bomb{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0};
  EXPECT_EQ(error_of([&] { decompressed(bomb, UINT64_MAX); }),
            "f: the zstd frame at byte 0 declares 1125899906842624 bytes, which 16 compressed bytes cannot "
            "hold; copy "
            "or record the file again");
}

TEST(Zstd, IsRecognisedByContentNotName) {
  const auto plain = safetensors_file("{}", "");
  const auto packed = compress(plain, true);
  EXPECT_TRUE(is_zstd(packed));
  EXPECT_FALSE(is_zstd(plain));
  const std::string message = error_of([&] { Trace::parse("f", packed); });
  EXPECT_EQ(message, error_of([&] { Trace::parse("f", plain); }));  // both reach the metadata
}

TEST(ByteSource, MapsFilesAndReadsWhatCannotBeMapped) {
  const TemporaryFolder folder;
  const auto path = folder.write("f", "hello");
  EXPECT_EQ(ByteSource::open(path)->bytes().size(), 5u);
  EXPECT_EQ(ByteSource::open("/dev/null")->bytes().size(), 0u);
  EXPECT_EQ(error_of([&] { ByteSource::open(folder.path()); }),
            folder.path().string() + ": cannot read: Is a directory; check the path and its permissions");
  EXPECT_EQ(error_of([&] { ByteSource::open("/dev/zero"); }),
            "/dev/zero: this is a device; give a file or a pipe");
}

}  // namespace
}  // namespace lacuna
