#include "base/io/zstd_reader.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "base/testing.hpp"
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
  ZstdReader reader(bytes, "f", limit);
  const auto all = reader.read(UINT64_MAX);
  return {all.begin(), all.end()};
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

TEST(Zstd, ReadsNoFurtherThanAsked) {
  const auto bytes = noise(300000);
  for (const bool with_size : {false, true}) {
    auto packed = compress(bytes, with_size);
    ZstdReader reader(packed, "f", kLimit);
    EXPECT_EQ(reader.declared(), with_size ? std::optional<std::uint64_t>(300000) : std::nullopt);
    for (const std::size_t size : {9UL, 9UL, 70000UL, 299999UL}) {
      const auto part = reader.read(size);
      ASSERT_EQ(part.size(), size) << with_size;
      EXPECT_TRUE(std::equal(part.begin(), part.end(), bytes.begin())) << size;
    }
    const auto whole = reader.take(300000);
    EXPECT_TRUE(std::ranges::equal(whole->bytes(), bytes));
    ZstdReader shorter(packed, "f", kLimit);
    EXPECT_EQ(
        error_of([&] { shorter.take(299999); }),
        "f: the file decompresses to more than the 299999 bytes that its header declares; copy or record "
        "the file again");
    ZstdReader longer(packed, "f", kLimit);
    EXPECT_EQ(longer.take(300001)->bytes().size(), 300000u);  // for the caller to refuse
    packed.back() ^= 1;  // the checksum of the last frame is read although no byte follows it
    ZstdReader damaged(packed, "f", kLimit);
    EXPECT_NE(error_of([&] { damaged.take(300000); }), "no error");
  }
}

// Megabytes of frames that would fill any memory: 2,000 of 1 MiB each, without sizes. What a trace declares
// is all that is decompressed.
TEST(Zstd, ABombTakesNoMoreThanItsHeaderDeclares) {
  const auto bomb_after = [](const std::vector<std::uint8_t>& start) {
    auto bytes = start.empty() ? start : compress(start, false);
    const auto frame = compress(std::vector<std::uint8_t>(1 << 20), false);
    for (int i = 0; i < 2000; ++i) bytes.insert(bytes.end(), frame.begin(), frame.end());
    return bytes;
  };
  const auto peak = [](const std::vector<std::uint8_t>& file) {  // of a new process, in MiB
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string message = error_of([&] { Trace::parse("f", file); });
      ::_exit(message == "no error" ? 1 : 0);
    }
    int status = -1;
    struct rusage usage {};
    EXPECT_EQ(::wait4(child, &status, 0, &usage), child);
    EXPECT_EQ(status, 0);
    return usage.ru_maxrss / 1024;
  };
  constexpr long kMost = 1024;  // sanitizers take some hundreds
  const auto zeros = bomb_after({});
  EXPECT_EQ(
      error_of([&] { Trace::parse("f", zeros); }),
      "f: the header does not start with '{'; is this a safetensors file? if so, copy or record it again");
  EXPECT_LT(peak(zeros), kMost);
  const auto after_header =
      bomb_after(safetensors_file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", ""));
  EXPECT_EQ(
      error_of([&] { Trace::parse("f", after_header); }),
      "f: the file decompresses to more than the 65 bytes that its header declares; copy or record the file "
      "again");
  EXPECT_LT(peak(after_header), kMost);
  // A header that continues with zeros stops being JSON at its first byte.
  std::vector<std::uint8_t> long_header{0, 0, 0, 4, 0, 0, 0, 0, '{'};
  EXPECT_NE(error_of([&] { Trace::parse("f", bomb_after(long_header)); }).find("is not JSON from byte 2 on"),
            std::string::npos);
  EXPECT_LT(peak(bomb_after(long_header)), kMost);
}

TEST(Zstd, IsRecognisedByContentNotName) {
  const auto plain = safetensors_file("{}", "");
  const auto packed = compress(plain, true);
  EXPECT_TRUE(is_zstd(packed));
  EXPECT_FALSE(is_zstd(plain));
  const std::string message = error_of([&] { Trace::parse("f", packed); });
  EXPECT_EQ(message, error_of([&] { Trace::parse("f", plain); }));  // both reach the metadata
}

}  // namespace
}  // namespace lacuna
