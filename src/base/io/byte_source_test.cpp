#include "base/io/byte_source.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing.hpp"

namespace lacuna {
namespace {

std::string open_error(const std::filesystem::path& path) {
  return error_of([&] { ByteSource::open(path); });
}

TEST(ByteSource, MapsFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(ByteSource::open(folder.write("f", "hello"))->bytes().size(), 5u);
  EXPECT_TRUE(ByteSource::open(folder.write("empty", ""))->bytes().empty());
}

// Without waiting for a writer, reading without end or filling the memory.
TEST(ByteSource, RefusesWhatIsNotAFileBeforeReading) {
  const TemporaryFolder folder;
  const std::string remedy = "; write its content to a file and give that";
  EXPECT_EQ(open_error(folder.path()), folder.path().string() + ": this is a folder, not a file" + remedy);
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(open_error(folder / "pipe"), folder.file("pipe") + ": this is a pipe, not a file" + remedy);
  for (const char* device : {"/dev/null", "/dev/zero"})
    EXPECT_EQ(open_error(device), std::string(device) + ": this is a device, not a file" + remedy);
}

// Files of /proc have no size; one of them never ends, another waits for messages of the kernel.
TEST(ByteSource, FilesWithoutASizeAreEmpty) {
  if (!std::filesystem::exists("/proc/self/maps")) GTEST_SKIP() << "no /proc";
  EXPECT_TRUE(ByteSource::open("/proc/self/maps")->bytes().empty());
  EXPECT_TRUE(ByteSource::open("/proc/self/pagemap")->bytes().empty());
}

}  // namespace
}  // namespace lacuna
