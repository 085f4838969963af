#include <atomic>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <latch>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/input_files.hpp"
#include "base/io/output_file.hpp"
#include "base/parallel.hpp"
#include "base/params.hpp"
#include "base/random.hpp"
#include "base/testing.hpp"
#include "base/text/csv.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

TEST(CeilDiv, RoundsUpOnBothSidesOfZero) {
  for (std::int64_t a = -20; a <= 20; ++a) {
    for (std::int64_t b = 1; b <= 5; ++b) {
      EXPECT_GE(ceil_div(a, b) * b, a);
      EXPECT_LT((ceil_div(a, b) - 1) * b, a);
    }
  }
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(ceil_div(kLargest, 2), kLargest / 2 + 1);
  EXPECT_EQ(ceil_div(kLargest, kLargest), 1);
}

TEST(InputError, KeepsItsParts) {
  const InputError error("f.yaml:3: a", "it is 1; it was 2", "write 2; or 3");
  EXPECT_STREQ(error.what(), "f.yaml:3: a: it is 1; it was 2; write 2; or 3");
  const InputError copy = error;  // NOLINT(performance-unnecessary-copy-initialization): what a throw does
  EXPECT_EQ(copy.where(), "f.yaml:3: a");
  EXPECT_EQ(copy.cause(), "it is 1; it was 2");
  EXPECT_EQ(copy.remedy(), "write 2; or 3");
}

// Control characters of ISO 8859, ends of lines of Unicode, marks of direction, bytes that are not UTF-8: cut
// off, overlong, surrogates, beyond the last character, Latin-1.
TEST(Quote, NothingUnsafeReachesATerminal) {
  const std::pair<std::string, std::string> kUnsafe[] = {{"\x1b", "\\x1b"},
                                                         {"\x7f", "\\x7f"},
                                                         {"\u0085", "\\u0085"},
                                                         {"\u009b", "\\u009b"},
                                                         {"\u2028", "\\u2028"},
                                                         {"\u2029", "\\u2029"},
                                                         {"\u202e", "\\u202e"},
                                                         {"\u2066", "\\u2066"},
                                                         {"\u200f", "\\u200f"},
                                                         {"\ufeff", "\\ufeff"},
                                                         {"\u200b", "\\u200b"},
                                                         {"\u200d", "\\u200d"},
                                                         {"\u2060", "\\u2060"},
                                                         {"\u00ad", "\\u00ad"},
                                                         {"\u3164", "\\u3164"},
                                                         {"\ufe0f", "\\ufe0f"},
                                                         {"\U000e0041", "\\ue0041"},
                                                         {"\xe9", "\\xe9"},
                                                         {"\xe2\x80", "\\xe2\\x80"},
                                                         {"\xc0\x80", "\\xc0\\x80"},
                                                         {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
                                                         {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}};
  for (const auto& [text, escaped] : kUnsafe) {
    EXPECT_EQ(escape_controls("a" + text + "b"), "a" + escaped + "b");
    const std::string shown = printable("a" + text + "b");
    EXPECT_EQ(shown.find_first_not_of("ab?"), shown.npos) << shown;
    EXPECT_EQ(printable_lines("a\tb\n" + text).find_first_not_of("ab?\t\n"), shown.npos);
  }
  for (const std::string text : {"caf\u00e9", "\u4e2d\u6587", "\U0001f600", "\u00a0", "\u2588"}) {
    EXPECT_EQ(escape_controls(text), text);
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Csv, CellsThatASpreadsheetWouldRunAreText) {
  for (const char* text : {"=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "'=1"})
    EXPECT_EQ(csv_text(text), std::string("\"'") + text + '"');
  EXPECT_EQ(csv_text("=a,\"b\""), "\"'=a,\"\"b\"\"\"");
  for (const char* text : {"-1.5", "conv1", "a=b", "-", "1e-3", "'quoted'"}) EXPECT_EQ(csv_text(text), text);
}

TEST(Quote, HostileNamesStayInOneShortLine) {
  EXPECT_EQ(quote_name("conv1"), "'conv1'");
  EXPECT_EQ(quote_name("a\nb\x1b[31m\x7f"), "'a\\x0ab\\x1b[31m\\x7f'");
  EXPECT_EQ(quote_name(std::string(80, 'a')), "'" + std::string(80, 'a') + "'");
  EXPECT_EQ(quote_name(std::string(81, 'a')), "'" + std::string(80, 'a') + "...'");
  // Cut before a character of two bytes, not inside it.
  EXPECT_EQ(one_line("abc\u00e4\u00e4", 4), "abc...");
  EXPECT_EQ(one_line("abc\u00e4\u00e4", 5), "abc\u00e4...");
  EXPECT_EQ(escape_controls(std::string(200, 'a') + "\t"), std::string(200, 'a') + "\\x09");
}

TEST(Nearest, FindsTypos) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("nwhc", "nhwc"), 1u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(nearest_name("F23", {"F16", "F32"}), "F32");
  EXPECT_EQ(nearest_name("tensordahs", {"dense", "tensordash", "ant"}), "tensordash");
  EXPECT_EQ(nearest_name("depth", {"lanes", "depht"}), "depht");
  EXPECT_EQ(nearest_name("quantum", {"dense", "ant"}), "");
}

Params example() {
  return Params("thing", {ParamSpec::integer("rows", 4, 1, 64, "rows", "PE rows", "Table 2"),
                          ParamSpec::flag("gating", false, "power gating", "§3.5"),
                          ParamSpec::number("share", 0.5, 0, 1, "", "share", ""),
                          ParamSpec::choice("sync", "lockstep", {"lockstep", "decoupled"}, "", "")});
}

TEST(Params, DefaultsAndSetting) {
  Params params = example();
  EXPECT_EQ(params.integer("rows"), 4);
  params.set("rows", "16", "--set");
  params.set("gating", "true", "--set");
  params.set("share", "0.25", "--set");
  EXPECT_EQ(params.integer("rows"), 16);
  EXPECT_TRUE(params.flag("gating"));
  EXPECT_DOUBLE_EQ(params.number("share"), 0.25);
  EXPECT_FALSE(params.is_default("rows"));
  EXPECT_TRUE(params.is_default("sync"));
}

TEST(Params, ErrorsNameKeyRangeAndNearest) {
  Params params = example();
  const auto message = [&](const char* key, const char* value) {
    return error_of([&] { params.set(key, value, "my.yaml"); });
  };
  EXPECT_EQ(message("row", "4"),
            "my.yaml: unknown key 'row' for thing; did you mean 'rows'? known: rows, gating, share, sync");
  EXPECT_EQ(message("rows", "0"), "my.yaml: '0' is not a value for 'rows' of thing; allowed: 1..64 rows");
  EXPECT_EQ(message("rows", "4x"), "my.yaml: '4x' is not a value for 'rows' of thing; allowed: 1..64 rows");
  EXPECT_EQ(message("share", "nan"), "my.yaml: 'nan' is not a value for 'share' of thing; allowed: 0..1");
  EXPECT_EQ(
      message("sync", "lockstop"),
      "my.yaml: 'lockstop' is not a value for 'sync' of thing; allowed: lockstep | decoupled (did you mean "
      "'lockstep'?)");
}

TEST(Parallel, EveryItemOnceAndNested) {
  for (const int threads : {1, 2, 5}) {
    std::vector<std::atomic<int>> hits(37 * 11);
    with_threads(threads, [&] {
      parallel_for(37, 1,
                   [&](std::size_t i) { parallel_for(11, 2, [&](std::size_t j) { hits[i * 11 + j]++; }); });
    });
    for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
  }
}

// GCC's runtime runs a loop of more than 64 tasks per thread on one thread.
TEST(Parallel, LongLoopsUseEveryThread) {
  constexpr int kThreads = 2;
  std::latch all(kThreads);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::atomic<bool> met = true;
  with_threads(kThreads, [&] {
    parallel_for(1000 * kThreads, 1, [&](std::size_t) {
      thread_local bool here = false;
      if (std::exchange(here, true)) return;
      all.count_down();
      while (!all.try_wait()) {
        if (std::chrono::steady_clock::now() < deadline) continue;
        met = false;
        return;
      }
    });
  });
  EXPECT_TRUE(met) << "one thread ran all items";
}

TEST(Parallel, ExceptionsComeOut) {
  EXPECT_THROW(with_threads(2,
                            [] {
                              parallel_for(100, 1, [](std::size_t i) {
                                if (i == 42) throw std::runtime_error("42");
                              });
                            }),
               std::runtime_error);
}

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("lacuna_output_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string content(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::filesystem::path folder_;
};

TEST_F(OutputFileTest, NothingUnderTheFinalNameBeforeCommit) {
  const auto path = folder_ / "result";
  {
    OutputFile file(path);
    file.write("half");
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(entries(), 0u);  // and the temporary file is gone
  write_file(path, "whole");
  EXPECT_EQ(content(path), "whole");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, FollowsLinks) {
  write_file(folder_ / "real", "old");
  std::filesystem::create_symlink("real", folder_ / "link");
  write_file(folder_ / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "real"), "new");
}

// Of a process that was killed; one that lives may be writing still, and other names are none of ours.
TEST_F(OutputFileTest, AbandonedFilesAreRemoved) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
  const std::string dead = "c.partial-" + std::to_string(gone) + "-0123456789abcdef";
  const std::string older = "c.partial-" + std::to_string(gone);
  const std::string alive = "c.partial-" + std::to_string(::getpid());
  for (const std::string& name : {dead, older, alive, std::string("c.partial-"), std::string("c.partial-12x"),
                                  std::string("c.partial--1"), ".partial-" + std::to_string(gone)})
    std::ofstream(folder_ / name) << "x";
  remove_abandoned_files(folder_);
  EXPECT_FALSE(std::filesystem::exists(folder_ / dead));
  EXPECT_FALSE(std::filesystem::exists(folder_ / older));
  for (const std::string& name : {alive, std::string("c.partial-"), std::string("c.partial-12x"),
                                  std::string("c.partial--1"), ".partial-" + std::to_string(gone)})
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
  remove_abandoned_files(folder_ / "no such folder");
}

std::string only_name_in(const std::filesystem::path& folder) {
  std::string name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(name, "");
    name = entry.path().filename().string();
  }
  return name;
}

// Whoever may write into the folder could otherwise plant a link under the temporary name and have another
// file overwritten.
TEST_F(OutputFileTest, TemporaryNamesCannotBeForeseen) {
  std::set<std::string> names;
  for (int i = 0; i < 8; ++i) {
    OutputFile file(folder_ / "result");
    names.insert(only_name_in(folder_));
  }
  EXPECT_EQ(names.size(), 8u);
  const std::string prefix = "result.partial-" + std::to_string(::getpid());
  for (const std::string& name : names) EXPECT_EQ(name.size(), prefix.size() + 17) << name;
  std::ofstream(folder_ / "victim") << "precious";
  std::filesystem::create_symlink("victim", folder_ / prefix);  // the name that version 0.1 used
  write_file(folder_ / "result", "new");
  EXPECT_EQ(content(folder_ / "victim"), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(folder_ / "result"));
  EXPECT_EQ(content(folder_ / "result"), "new");
}

TEST_F(OutputFileTest, AReplacedFileKeepsItsPermissions) {
  const auto path = folder_ / "secret";
  write_file(path, "old");
  std::filesystem::permissions(path, std::filesystem::perms(0640));
  OutputFile file(path);
  file.write("new");
  struct stat status {};
  std::filesystem::path temporary;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    if (entry.path() != path) temporary = entry.path();
  ASSERT_EQ(::stat(temporary.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);  // while it is written as well
  file.commit();
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST_F(OutputFileTest, WhatWasReadIsNotReplacedByAnyName) {
  protect_input_files();
  const auto input = folder_ / "input";
  write_file(input, "precious");
  write_file(folder_ / "other", "old");
  std::filesystem::create_symlink("input", folder_ / "link");
  std::filesystem::create_hard_link(input, folder_ / "same");
  OutputFile begun(input);  // before it is read
  ByteSource::open(folder_ / "link");
  for (const char* name : {"input", "link", "same", "./same"})
    EXPECT_NE(error_of([&] { write_file(folder_ / name, "new"); }).find("this is an input"),
              std::string::npos);
  EXPECT_NE(error_of([&] { begun.commit(); }).find("this is an input"), std::string::npos);
  EXPECT_EQ(content(input), "precious");
  write_file(folder_ / "other", "new");
  release_input_file(input);  // a run's own state
  write_file(input, "new");
  EXPECT_EQ(content(input), "new");
}

TEST_F(OutputFileTest, KeptNamesAreNotReplacedByAnyName) {
  protect_input_files();
  reserve_name(folder_ / "later");
  write_file(folder_ / "log", "steps", OutputFile::Links::kRefuse);
  std::filesystem::create_symlink("log", folder_ / "link");
  for (const char* name : {"later", "log", "link", "./log"})
    EXPECT_NE(error_of([&] { write_file(folder_ / name, "page"); }).find("another result"),
              std::string::npos);
  EXPECT_EQ(content(folder_ / "log"), "steps");
  write_file(folder_ / "log", "more", OutputFile::Links::kRefuse);
  EXPECT_EQ(content(folder_ / "log"), "more");
}

TEST_F(OutputFileTest, NothingIsWrittenOnceAnInputHasChanged) {
  const auto input = folder_ / "input";
  write_file(input, "precious");
  struct stat status {};
  ASSERT_EQ(::stat(input.c_str(), &status), 0);
  auto watch = std::make_unique<InputWatch>(input, status);
  write_file(folder_ / "result", "1");
  write_file(input, "another file");  // of the same name: readers still have theirs
  EXPECT_FALSE(watch->has_changed());
  ASSERT_EQ(::stat(input.c_str(), &status), 0);
  watch = std::make_unique<InputWatch>(input, status);
  std::filesystem::last_write_time(input, std::filesystem::last_write_time(input) - std::chrono::seconds(1));
  EXPECT_TRUE(watch->has_changed());
  EXPECT_NE(error_of([&] { write_file(folder_ / "result", "2"); }).find("changed while it was read"),
            std::string::npos);
  EXPECT_EQ(content(folder_ / "result"), "1");
  std::filesystem::last_write_time(input, std::filesystem::last_write_time(input) + std::chrono::seconds(1));
  EXPECT_FALSE(watch->has_changed());  // as if it had not been: other tests of this process write, too
}

TEST_F(OutputFileTest, FilesThatAreBeingWrittenCanBeRemovedAtOnce) {
  {
    std::vector<std::unique_ptr<OutputFile>> files;
    for (int i = 0; i < 40; ++i)  // more than are listed
      files.push_back(std::make_unique<OutputFile>(folder_ / std::to_string(i)));
    EXPECT_EQ(entries(), 40u);
    remove_partial_files();
    EXPECT_EQ(entries(), 8u);
  }
  EXPECT_EQ(entries(), 0u);
  for (int i = 0; i < 40; ++i) write_file(folder_ / "whole", "text");  // places are free again
  const OutputFile begun(folder_ / "begun");
  remove_partial_files();
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, LinksInFoldersOfTheProgramAreRefused) {
  write_file(folder_ / "victim", "precious");
  std::filesystem::create_symlink("victim", folder_ / "log");
  std::filesystem::create_symlink("nothing", folder_ / "dangling");
  for (const char* name : {"log", "dangling"})
    EXPECT_NE(error_of([&] {
                write_file(folder_ / name, "new", OutputFile::Links::kRefuse);
              }).find("this is a link"),
              std::string::npos);
  EXPECT_EQ(content(folder_ / "victim"), "precious");
  EXPECT_EQ(entries(), 3u);
}

// A command that was killed leaves a temporary file: the next one with the same output removes it, and no
// other.
TEST_F(OutputFileTest, LeftoversOfTheSameTargetAreRemoved) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
  const std::string rest = ".partial-" + std::to_string(gone) + "-0123456789abcdef";
  for (const char* name : {"t", "tt", "t.x", "locked"}) std::ofstream(folder_ / (name + rest)) << "x";
  const int held =
      ::open((folder_ / ("locked" + rest)).c_str(), O_RDONLY);  // by a process of another container
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  write_file(folder_ / "t", "text");
  write_file(folder_ / "locked", "text");
  EXPECT_FALSE(std::filesystem::exists(folder_ / ("t" + rest)));
  for (const char* name : {"tt", "t.x", "locked"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / (name + rest)));
  ::close(held);
}

// A command may write a file for every operation of a large network.
TEST_F(OutputFileTest, ManyFilesInAFolderTakeLinearTime) {
  for (int i = 0; i < 20000; ++i) std::ofstream(folder_ / fmt::format("there{}", i));
  const std::clock_t begin = std::clock();
  for (int i = 0; i < 500; ++i) write_file(folder_ / fmt::format("new{}", i), "text");
  EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
}

TEST_F(OutputFileTest, NamesAsLongAsTheFileSystemAllows) {
  const auto path = folder_ / std::string(255, 'n');
  write_file(path, "text");
  EXPECT_EQ(content(path), "text");
}

TEST_F(OutputFileTest, DevicesAreWrittenAndNotReplaced) {
  write_file("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THROW(write_file("/dev/full", "text"), InputError);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_THROW(write_file(folder_, "text"), InputError);
  EXPECT_THROW(write_file(folder_ / "absent" / "file", "text"), InputError);
}

TEST(Random, SameSeedSameNumbers) {
  Random random(0);
  EXPECT_EQ(random.bits(), 0xe220a8397b1dcdafULL);  // the published first output of SplitMix64 for seed 0
  Random other(7);
  for (int i = 0; i < 1000; ++i) {
    const auto value = other.integer(-3, 3);
    EXPECT_GE(value, -3);
    EXPECT_LE(value, 3);
  }
}

}  // namespace
}  // namespace lacuna
