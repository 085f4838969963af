#include "base/io/yaml/yaml_reader.hpp"

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace lacuna {
namespace {

constexpr YamlKind kKind{"a list", "start with 'name: NAME'"};

// Reads every entry of the top map with `read(reader, key, key node, value)`.
template <typename Read>
std::string error_in(std::string_view yaml, const Read& read) {
  return error_of([&] {
    const YamlReader reader("f.yaml");
    reader.load(yaml, kKind, [&](const YAML::Node& root) {
      reader.each(root, "the file",
                  [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
                    read(reader, key, at, value);
                  });
    });
  });
}
std::string error_in_map(std::string_view yaml) {
  return error_in(
      yaml, [](const YamlReader& reader, const std::string& key, const YAML::Node&, const YAML::Node& value) {
        reader.each(value, "'" + key + "'", [](const std::string&, const YAML::Node&, const YAML::Node&) {});
      });
}
std::string error_in_number(std::string_view yaml) {
  return error_in(yaml, [](const YamlReader& reader, const std::string& key, const YAML::Node& at,
                           const YAML::Node& value) { reader.number(at, key, value); });
}

TEST(YamlReader, WalksAMapInTheOrderOfTheFile) {
  const YamlReader reader("f.yaml");
  std::string keys;
  reader.load("b: 1\na: 2.5\nc: 1e3\n", kKind, [&](const YAML::Node& root) {
    double sum = 0;
    reader.each(root, "the file", [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      keys += key + "@" + reader.place(at) + " ";
      sum += reader.number(at, key, value);
    });
    EXPECT_EQ(sum, 1003.5);
  });
  EXPECT_EQ(keys, "b@f.yaml:1 a@f.yaml:2 c@f.yaml:3 ");
}

TEST(YamlReader, RefusesWhatIsNotAMapOfDifferentWords) {
  EXPECT_EQ(error_in_map("a: 3\n"),
            "f.yaml:1: 'a' is not a list of 'key: value' lines; write key: value under it");
  EXPECT_EQ(error_in_map("a:\n  b: 1\n  c: 2\n  b: 3\n"),
            "f.yaml:4: the key 'b' is there twice; remove one of them");
  EXPECT_EQ(error_in_map("a:\n  ? [1, 2]\n  : 3\n"), "f.yaml:2: a key is not a word; write key: value");
  EXPECT_EQ(error_in_map("a:\n  \"x\\ny\": 1\n  \"x\\ny\": 2\n"),
            "f.yaml:3: the key 'x\\x0ay' is there twice; remove one of them");
}

TEST(YamlReader, RefusesWhatIsNotANumber) {
  EXPECT_EQ(error_in_number("a: 1\nb: two\n"), "f.yaml:2: 'b' is 'two', not a finite number; write a number");
  EXPECT_EQ(error_in_number("a: inf\n"), "f.yaml:1: 'a' is 'inf', not a finite number; write a number");
  EXPECT_EQ(error_in_number("a: -1\n"), "f.yaml:1: 'a' is negative (-1); write a number from 0");
  EXPECT_EQ(error_in_number("a:\nb: 1\n"), "f.yaml:1: 'a' has no value; write it after the ':'");
  EXPECT_EQ(error_in_number("a: [1]\n"), "f.yaml:1: 'a' has no value; write it after the ':'");
  EXPECT_EQ(error_in_number("a: " + std::string(YamlReader::kLongestText + 1, '1') + "\n"),
            "f.yaml:1: 'a' is too long; shorten it");
}

TEST(YamlReader, NamesThePartOfTheFile) {
  const YamlReader reader("f.yaml", ": layer 3");
  reader.load("a: 1\n", kKind, [&](const YAML::Node& root) {
    EXPECT_EQ(reader.place(root), "f.yaml:1: layer 3");
    EXPECT_EQ(reader.place(root["none"]), "f.yaml: layer 3");
  });
}

// as<int>() and the like throw yaml-cpp's own exceptions.
TEST(YamlReader, ErrorsOfTheLibraryBecomeErrorsOfTheFile) {
  const std::string message =
      error_in("a: x\n", [](const YamlReader&, const std::string&, const YAML::Node&,
                            const YAML::Node& value) { static_cast<void>(value.as<int>()); });
  EXPECT_TRUE(message.starts_with("f.yaml:1: not YAML: ")) << message;
}

}  // namespace
}  // namespace lacuna
