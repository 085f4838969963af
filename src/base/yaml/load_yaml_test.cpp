#include "base/yaml/load_yaml.hpp"

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace lacuna {
namespace {

std::string error_of(std::string_view text) {
  return lacuna::error_of([&] { load_yaml(text, "f.yaml", {"a list", "start with 'name: NAME'"}); });
}

TEST(LoadYaml, ReadsOneDocument) {
  const YAML::Node root = load_yaml("---\na: 1\nb: [2, 3]\n...\n", "f.yaml", {"a list", ""});
  EXPECT_EQ(root["a"].as<int>(), 1);
  EXPECT_EQ(root["b"].size(), 2u);
  EXPECT_EQ(error_of("a: 1\n---\n"), "no error");  // nothing after the line
}

TEST(LoadYaml, RefusesASecondDocument) {
  const std::string two = "f.yaml: it holds more than one document; keep one, without '---'";
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"), two);
  EXPECT_EQ(error_of("a: 1\n...\n---\n- b\n"), two);
  EXPECT_EQ(error_of("a: 1\n---\nb\n"), two);
}

TEST(LoadYaml, RefusesWhatIsNotAMap) {
  EXPECT_EQ(error_of(""), "f.yaml: it is empty; start with 'name: NAME'");
  EXPECT_EQ(error_of("# nothing\n"), "f.yaml: it is empty; start with 'name: NAME'");
  EXPECT_EQ(error_of("\n- a\n"),
            "f.yaml:2: this is not a list of 'key: value' lines; start with 'name: NAME'");
  EXPECT_EQ(error_of(std::string(kLargestYaml + 1, ' ')), "f.yaml: larger than 1 MB; this is not a list");
}

TEST(LoadYaml, RefusesControlCharacters) {
  const std::string remedy = " is not text; save the file as plain text in UTF-8";
  EXPECT_EQ(error_of("a: 1\n\x04\nb: [[[\n"), "f.yaml:2: the byte 0x04" + remedy);  // the end, to yaml-cpp
  EXPECT_EQ(error_of(std::string("a\0:\0", 4)), "f.yaml:1: the byte 0x00" + remedy);
  EXPECT_EQ(error_of("a: *\x1b[31mno\n"), "f.yaml:1: the byte 0x1b" + remedy);
  EXPECT_EQ(error_of("a:\t1\r\n"), "no error");
}

TEST(LoadYaml, NamesTheLineInOneLine) {
  EXPECT_TRUE(error_of("a: [1\n").starts_with("f.yaml:2: not YAML: ")) << error_of("a: [1\n");
  const std::string hostile = error_of("a: *\u009b[31mno\nb: 1\n");
  EXPECT_NE(hostile, "no error");
  EXPECT_EQ(hostile.find('\n'), std::string::npos) << hostile;
  EXPECT_NE(error_of("a: " + std::string(100000, '[')), "no error");
  // YAML::LoadAll() of yaml-cpp 0.7 never ends on this.
  EXPECT_NE(error_of("a # b\n, c"), "no error");
}

}  // namespace
}  // namespace lacuna
