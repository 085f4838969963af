// src/models/new_model makes a model of the template. What it makes is the template under another name, which
// is built and run in this program.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "base/testing.hpp"

namespace lacuna {
namespace {

int new_model(const std::string& arguments) {
  const std::string command = LACUNA_SOURCE_DIR "/src/models/new_model " + arguments + " >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  return WEXITSTATUS(status);
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(NewModel, IsTheTemplateUnderAnotherName) {
  const TemporaryFolder folder;
  ASSERT_EQ(new_model("skip-more " + folder.path().string()), 0);
  const std::filesystem::path made = folder.path() / "skip-more";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LACUNA_SOURCE_DIR "/src/models/template")) {
    const std::string name = replaced(entry.path().filename().string(), "template_machine", "skip_more");
    ASSERT_TRUE(std::filesystem::exists(made / name)) << name;
    ++files;
    if (name == "README.md") continue;
    std::string expected = read(entry.path());
    for (const auto& [from, to] : {std::pair{"template_machine", "skip_more"},
                                   {"TemplateMachine", "SkipMore"},
                                   {"models/template/", "models/skip-more/"},
                                   {"NAME template", "NAME skip-more"},
                                   {"\"template\"", "\"skip-more\""}}) {
      expected = replaced(std::move(expected), from, to);
    }
    EXPECT_EQ(read(made / name), expected) << name;
    EXPECT_EQ(expected.find("emplate"), std::string::npos) << name;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(made), {}), files);
  EXPECT_TRUE(read(made / "README.md").starts_with("# skip-more\n"));
  EXPECT_NE(read(made / "README.md").find("| `skip_more.cpp` |"), std::string::npos);
}

TEST(NewModel, RefusesWhatIsNotANameOrIsTaken) {
  const TemporaryFolder folder;
  const std::string to = " " + folder.path().string();
  for (const char* name : {"", "Skip", "../skip", "2of4", "skip_more", "-x", "a--b", "template; touch x"}) {
    EXPECT_EQ(new_model("'" + std::string(name) + "'" + to), 2) << name;
  }
  EXPECT_EQ(new_model("dense"), 2);
  EXPECT_EQ(new_model(""), 2);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace lacuna
