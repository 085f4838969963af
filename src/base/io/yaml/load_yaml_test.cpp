#include <algorithm>
#include <climits>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/io/yaml/yaml_reader.hpp"
#include "base/testing.hpp"

namespace lacuna {
namespace {

std::string load_error(std::string_view text) {
  return error_of([&] { load_yaml(text, "f.yaml", {"a list", "start with 'name: NAME'"}); });
}

TEST(LoadYaml, ReadsOneDocument) {
  const YAML::Node root = load_yaml("---\na: 1\nb: [2, 3]\n...\n", "f.yaml", {"a list", ""});
  EXPECT_EQ(root["a"].as<int>(), 1);
  EXPECT_EQ(root["b"].size(), 2u);
  EXPECT_EQ(load_error("a: 1\n---\n"), "no error");  // nothing after the line
}

TEST(LoadYaml, RefusesASecondDocument) {
  const std::string two = "f.yaml: it holds more than one document; keep one, without '---'";
  EXPECT_EQ(load_error("a: 1\n---\nb: 2\n"), two);
  EXPECT_EQ(load_error("a: 1\n...\n---\n- b\n"), two);
  EXPECT_EQ(load_error("a: 1\n---\nb\n"), two);
}

TEST(LoadYaml, RefusesWhatIsNotAMap) {
  EXPECT_EQ(load_error(""), "f.yaml: it is empty; start with 'name: NAME'");
  EXPECT_EQ(load_error("# nothing\n"), "f.yaml: it is empty; start with 'name: NAME'");
  EXPECT_EQ(load_error("\n- a\n"),
            "f.yaml:2: this is not a list of 'key: value' lines; start with 'name: NAME'");
  EXPECT_EQ(load_error(std::string(kLargestYaml + 1, ' ')), "f.yaml: larger than 1 MB; this is not a list");
}

TEST(LoadYaml, RefusesControlCharacters) {
  const std::string remedy = " is not text; save the file as plain text in UTF-8";
  EXPECT_EQ(load_error("a: 1\n\x04\nb: [[[\n"), "f.yaml:2: the byte 0x04" + remedy);  // the end, to yaml-cpp
  EXPECT_EQ(load_error(std::string("a\0:\0", 4)), "f.yaml:1: the byte 0x00" + remedy);
  EXPECT_EQ(load_error("a: *\x1b[31mno\n"), "f.yaml:1: the byte 0x1b" + remedy);
  EXPECT_EQ(load_error("a:\t1\r\n"), "no error");
}

TEST(LoadYaml, NamesTheLineInOneLine) {
  EXPECT_TRUE(load_error("a: [1\n").starts_with("f.yaml:2: not YAML: ")) << load_error("a: [1\n");
  const std::string hostile = load_error("a: *\u009b[31mno\nb: 1\n");
  EXPECT_NE(hostile, "no error");
  EXPECT_EQ(hostile.find('\n'), std::string::npos) << hostile;
  EXPECT_NE(load_error("a: " + std::string(100000, '[')), "no error");
  // YAML::LoadAll() of yaml-cpp 0.7 never ends on this.
  EXPECT_NE(load_error("a # b\n, c"), "no error");
}

// Nested in each of the ways that YAML has.
TEST(LoadYaml, RefusesDeepNesting) {
  const std::string message =
      "f.yaml:1: lists and maps are nested more than 32 deep; write it with fewer levels";
  for (const char* level : {"[", "{a: ", "- ", "? ", "[{a: "}) {
    std::string text = level[0] == '-' || level[0] == '?' ? "" : "a: ";
    for (int i = 0; i < 5000; ++i) text += level;
    EXPECT_EQ(load_error(text), message) << level;
  }
  const auto nested = [](int levels) {
    return "a: " + std::string(static_cast<std::size_t>(levels - 1), '[') +
           std::string(static_cast<std::size_t>(levels - 1), ']');
  };
  EXPECT_EQ(load_error(nested(kDeepestYaml)), "no error");
  EXPECT_EQ(load_error(nested(kDeepestYaml + 1)), message);
}

// On a stack of 64 KiB, as a thread or `ulimit -s 64` gives (128 KiB on ARM, where threads have at least
// that); yaml-cpp alone needs more for 500 levels.
TEST(LoadYaml, DeepNestingTakesLittleStack) {
  const std::size_t stack = std::max<std::size_t>(64 << 10, PTHREAD_STACK_MIN);
  std::string text = "a: " + std::string(5000, '[');
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack), 0);
  pthread_t thread{};
  const auto parse = [](void* argument) -> void* {
    auto& in_out = *static_cast<std::string*>(argument);
    in_out = load_error(in_out);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, parse, &text), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_NE(text.find("nested more than"), std::string::npos) << text;
  pthread_attr_destroy(&attributes);
}

TEST(LoadYaml, ReadsOnlyFiles) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const auto read_error = [](const std::string& path) { return error_of([&] { read_yaml_file(path); }); };
  EXPECT_EQ(read_error(folder.file("pipe")), folder.file("pipe") +
                                                 ": this is a pipe, not a file; "
                                                 "write its content to a file and give that");
  if (std::filesystem::exists("/proc/self/maps")) {
    EXPECT_EQ(read_yaml_file("/proc/self/maps"), "");
  }
  EXPECT_NE(read_error("/dev/zero"), "no error");
  EXPECT_NE(read_error(folder.path().string()), "no error");
}

}  // namespace
}  // namespace lacuna
