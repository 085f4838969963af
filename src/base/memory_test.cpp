#include "base/memory.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <utility>

#include "base/testing.hpp"

namespace lacuna {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

// A machine of 8 GiB as its files show it.
class UsableMemory : public testing::Test {
 protected:
  UsableMemory() { put("proc/meminfo", "MemFree:  1 kB\nMemTotal:        8388608 kB\nSwapTotal: 9 kB\n"); }

  void put(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    root_.write(name, content);
  }
  std::uint64_t mebibytes() const { return usable_memory(root_.path()) / kMebibyte; }

  TemporaryFolder root_;
};

TEST_F(UsableMemory, IsTheMachinesWithoutGroups) { EXPECT_EQ(mebibytes(), 8192u); }

TEST_F(UsableMemory, OfAContainerWithVersionTwo) {
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(mebibytes(), 8192u);
  put("sys/fs/cgroup/memory.max", "536870912\n");
  EXPECT_EQ(mebibytes(), 512u);
}

// The limit of a group above holds too, whichever is smaller.
TEST_F(UsableMemory, OfANestedGroup) {
  put("proc/self/cgroup", "0::/user.slice/job.scope\n");
  put("sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
  put("sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n");
  EXPECT_EQ(mebibytes(), 1024u);
  put("sys/fs/cgroup/user.slice/job.scope/memory.max", "268435456\n");
  EXPECT_EQ(mebibytes(), 256u);
  put("sys/fs/cgroup/user.slice/memory.max", "134217728\n");
  EXPECT_EQ(mebibytes(), 128u);
}

TEST_F(UsableMemory, OfVersionOne) {
  put("proc/self/cgroup", "5:cpu,memory:/a/b\n4:memory_other:/c\n1:name=x:/a:b\n0::/\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_EQ(mebibytes(), 8192u);
  put("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(mebibytes(), 2048u);
  // A container that sees its own group as the root, while the kernel reports the path on the host.
  put("proc/self/cgroup", "4:memory:/docker/0123\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(mebibytes(), 1024u);
}

TEST_F(UsableMemory, OfBothVersionsTheSmaller) {
  put("proc/self/cgroup", "4:memory:/a\n0::/b\n");
  put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2147483648\n");
  put("sys/fs/cgroup/unified/b/memory.max", "1073741824\n");
  EXPECT_EQ(mebibytes(), 1024u);
  put("sys/fs/cgroup/unified/b/memory.max", "3221225472\n");
  EXPECT_EQ(mebibytes(), 2048u);
}

TEST_F(UsableMemory, FilesThatSayNothing) {
  put("proc/self/cgroup", "\n0\n0:\n::\n4:memory:\n0::/a\n0::../../x\n");
  for (const char* text : {"", "\n", "x\n", "-1\n", "0\n", "99999999999999999999999\n"}) {
    put("sys/fs/cgroup/a/memory.max", text);
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", text);
    EXPECT_EQ(mebibytes(), 8192u) << text;
  }
  put("proc/meminfo", "MemTotal: many\n");
  EXPECT_GT(mebibytes(), 0u);
}

// Other claims of this process, none in this test, count too.
TEST(MemoryClaim, WhatIsLeftIsShared) {
  const auto budget = static_cast<double>(memory_budget());
  MemoryClaim half(budget / 2, "a", "b");
  EXPECT_NE(error_of([&] {
              MemoryClaim(0.6 * budget, "f: layer 'l'", "the engine");
            }).find("f: layer 'l': the engine needs "),
            std::string::npos);
  MemoryClaim moved = std::move(half);
  EXPECT_NE(error_of([&] { MemoryClaim(0.6 * budget, "a", "b"); }), "no error");
  moved = MemoryClaim();
  EXPECT_EQ(error_of([&] { MemoryClaim(0.6 * budget, "a", "b"); }), "no error");
  for (const double hopeless : {1e30, std::numeric_limits<double>::infinity()})
    EXPECT_NE(error_of([&] { MemoryClaim(hopeless, "a", "b"); }), "no error");
}

TEST(MemoryBudget, IsWhatTheVariableSays) {
  const auto with = [](const char* text) {
    ::setenv("LACUNA_MEMORY", text, 1);
    const std::uint64_t budget = memory_budget();
    ::unsetenv("LACUNA_MEMORY");
    return budget;
  };
  EXPECT_EQ(with("123456789"), 123456789U);
  EXPECT_EQ(with("64M"), 64 * kMebibyte);
  EXPECT_EQ(with("2G"), 2048 * kMebibyte);
  EXPECT_LE(with(""), usable_memory() / 4 * 3);
  for (const char* wrong : {"0", "-1", "1.5G", "6GB", "G", "lots", "99999999999999999999", "99999999T", " 1"})
    EXPECT_EQ(error_of([&] { with(wrong); }), "LACUNA_MEMORY: '" + std::string(wrong) +
                                                  "' is not a size of memory; write bytes, or 1500M, or 6G");
  ::unsetenv("LACUNA_MEMORY");
}

TEST(UsableMemoryHere, IsSomething) { EXPECT_GT(usable_memory(), kMebibyte); }

}  // namespace
}  // namespace lacuna
