// `simulate` says where the designs that it compares are not of the same size.
#include <gtest/gtest.h>

#include "cli/cli_fixture.hpp"

namespace lacuna {
namespace {

using testing::CliTest;
using testing::ProgramResult;
using testing::run_lacuna;

TEST_F(CliTest, SimulateSaysWhatDesignsDifferIn) {
  const std::string trace = small_trace("t.safetensors");
  const auto printed = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"simulate", trace});
    const ProgramResult result = run_lacuna(options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const auto says_nothing = [&](const std::vector<std::string>& options) {
    const std::string text = printed(options);
    return text.find("multipliers of") == std::string::npos && text.find(" the on-chip") == std::string::npos;
  };
  EXPECT_TRUE(says_nothing({"--arch", "dense,tensordash"}));
  EXPECT_NE(printed({"--set", "rows=8", "--set", "tiles=8"})
                .find("tensordash: half the on-chip memory, half the on-chip memory bandwidth of the default "
                      "tensordash\n"),
            std::string::npos);
  EXPECT_TRUE(says_nothing({"--set", "rows=8", "--set", "pin=all"}));
  EXPECT_TRUE(says_nothing({"--set", "lanes=32", "--set", "tiles=8"}));
  EXPECT_NE(printed({"--arch", "tensordash,scnn,ant"})
                .find("scnn, ant: a quarter of the multipliers of tensordash\n"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna
