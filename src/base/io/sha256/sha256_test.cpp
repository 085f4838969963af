#include "base/io/sha256/sha256.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/testing.hpp"

namespace lacuna {
namespace {

// FIPS 180-4's examples, and lengths around the end of a block (from coreutils' sha256sum).
TEST(Sha256, EqualsPublishedDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256_hex(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(sha256_hex(std::string(1000, 'a')),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

TEST(Sha256, OfAFile) {
  const TemporaryFolder folder;
  const std::string text(1'000'000, 'x');
  write_file(folder.file("x"), text);
  EXPECT_EQ(sha256_of_file(folder.file("x")), sha256_hex(text));
  EXPECT_THROW(sha256_of_file(folder.file("missing")), InputError);
  EXPECT_THROW(sha256_of_file(folder.path()), InputError);
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_THROW(sha256_of_file(folder.file("pipe")), InputError);
}

}  // namespace
}  // namespace lacuna
