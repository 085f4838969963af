// Tables fit 100 columns, and commands take the words that their help shows.
#include <gtest/gtest.h>
#include <sstream>

#include "base/io/output_file.hpp"
#include "base/text/text_table.hpp"
#include "cli/cli_fixture.hpp"
#include "cli/repeat_options.hpp"

namespace lacuna {
namespace {

using testing::kSqueezenet;
using testing::ProgramResult;
using testing::run_lacuna;

class WidthTest : public testing::CliTest {
 protected:
  // Lines of tables have several blanks between columns; notes and names of files have any length.
  static bool is_row(const std::string& line) {
    const std::size_t begin = line.find_first_not_of(' ');
    return begin != std::string::npos && line.find("  ", begin) != std::string::npos &&
           line.find(".safetensors") == std::string::npos;
  }
  void expect_narrow(const std::vector<std::string>& words) {
    const ProgramResult result = run_lacuna(words);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::istringstream lines(result.out);
    int shown = 0;
    for (std::string line; std::getline(lines, line); ++shown) {
      if (is_row(line)) {
        EXPECT_LE(display_width(line), 100u) << words.front() << ": " << line;
      }
    }
    EXPECT_GT(shown, 3) << words.front();
  }
};

TEST_F(WidthTest, TablesFitAHundredColumns) {
  const std::string small = small_trace("s.safetensors"), trace = kSqueezenet;
  const std::string before = folder_.file("a.json"), after = folder_.file("b.json");
  ASSERT_EQ(run_lacuna({"simulate", small, "--json", before}).exit_code, 0);
  ASSERT_EQ(run_lacuna({"simulate", small, "--set", "rows=8", "--json", after}).exit_code, 0);
  const std::string machines = "dense,tensordash,sparten,scnn-4096,ant-4096";
  expect_narrow({"arch", "list"});
  expect_narrow({"arch", "show", "tensordash"});
  expect_narrow({"arch", "area", "tensordash", "sparten"});
  expect_narrow({"reproduce", "--list"});
  expect_narrow({"reproduce", "table3"});
  expect_narrow({"inspect", trace});
  expect_narrow({"simulate", trace, "--layers", "--energy"});
  expect_narrow({"simulate", small, "--arch", machines, "--layers", "--energy"});
  expect_narrow({"simulate", small, "--arch", machines, "--rank", "energy", "--energy"});
  expect_narrow({"storage", trace});
  // The numbers of two files, one of which another machine made.
  const ProgramResult compared = run_lacuna({"compare", before, after});
  EXPECT_EQ(compared.exit_code, 1) << compared.err;
  std::istringstream lines(compared.out);
  for (std::string line; std::getline(lines, line);)
    if (is_row(line)) {
      EXPECT_LE(display_width(line), 100u) << line;
    }
}

TEST_F(WidthTest, EmptyTablesSayWhy) {
  const std::string one = folder_.file("one.safetensors");
  ASSERT_EQ(run_lacuna({"synth", "--layer", "linear in=32 out=16 batch=16", "-o", one}).exit_code, 0);
  EXPECT_NE(run_lacuna({"simulate", one, "--operations", "input_grad"})
                .out.find("nothing to simulate: the only layer ran none of these operations"),
            std::string::npos);
  EXPECT_NE(run_lacuna({"simulate", one}).out.find("no input_grad: the only layer is the first"),
            std::string::npos);
  EXPECT_EQ(run_lacuna({"simulate", one, "--operations", "forward"}).out.find("no input_grad"),
            std::string::npos);
}

TEST_F(WidthTest, OptionsTakeSeveralWords) {
  using cli::repeat_options;
  using Words = std::vector<std::string>;
  EXPECT_EQ(repeat_options({"simulate", "--set", "a=1", "x.b=2", "t.safetensors", "c=3"}),
            (Words{"simulate", "--set", "a=1", "--set", "x.b=2", "t.safetensors", "c=3"}));
  EXPECT_EQ(repeat_options({"--set=a=1", "b=[1,2]", "--seed", "3", "--config", "a.yaml", "b.yml", "t"}),
            (Words{"--set=a=1", "--set", "b=[1,2]", "--seed", "3", "--config", "a.yaml", "--config", "b.yml",
                   "t"}));
  EXPECT_EQ(repeat_options({"--set", "--", "a=1", "b=2"}), (Words{"--set", "--", "a=1", "b=2"}));
  EXPECT_EQ(repeat_options({"--set"}), (Words{"--set"}));
  const std::string trace = small_trace("t.safetensors");
  write_file(folder_.file("a.yaml"), "arch: tensordash\nname: first\nrows: 8\n");
  write_file(folder_.file("b.yaml"), "base: a.yaml\nname: second\nrows: 2\n");
  const ProgramResult result = run_lacuna({"simulate", "--config", folder_.file("a.yaml"),
                                           folder_.file("b.yaml"), "--set", "depth=2", "lanes=8", trace});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("second: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("lanes=8"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace lacuna
