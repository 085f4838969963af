#include "base/io/crc32.hpp"

#include <gtest/gtest.h>
#include <string>

namespace lacuna {
namespace {

// The check value of the CRC catalogue; the others from Python's binascii.
TEST(Crc32, EqualsPublishedSums) {
  EXPECT_EQ(crc32(""), 0U);
  EXPECT_EQ(crc32("123456789"), 0xcbf43926U);
  EXPECT_EQ(crc32("The quick brown fox jumps over the lazy dog"), 0x414fa339U);
  EXPECT_EQ(crc32(std::string(1000, 'a')), 0x9a38da03U);
}

TEST(Crc32, ContinuesAtAnyPlace) {
  std::string text;
  for (int i = 0; i < 100; ++i) text.push_back(static_cast<char>(i * 37));
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32(text.substr(cut), crc32(text.substr(0, cut))), crc32(text)) << cut;
}

}  // namespace
}  // namespace lacuna
