// `lacuna storage` as a user runs it.
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/cli_fixture.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using testing::kAlexnet;
using testing::kSqueezenet;
using testing::ProgramResult;
using testing::read_text;
using testing::run_lacuna;
using testing::TemporaryFolder;

TEST(StorageCli, TablesJsonAndCsvAgree) {
  const TemporaryFolder folder;
  const ProgramResult table =
      run_lacuna({"storage", kAlexnet, "--json", folder.file("a.json"), "--csv", folder.file("a.csv")});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("idx of 3 bits, AS of 2 bits"), std::string::npos);
  const json trace = json::parse(read_text(folder.file("a.json"))).at("storage").at(0);
  EXPECT_EQ(trace.at("form").at("grouping"), "blocks");
  // The trace's rows add up to its totals, and no tensor is worse than dense by more than idx and AS.
  double dense = 0;
  std::size_t tensors = 0;
  for (const json& layer : trace.at("layers")) {
    for (const json& tensor : layer.at("tensors")) {
      ++tensors;
      const json& bits = tensor.at("fp32_bits");
      dense += bits.at("dense").get<double>() * tensor.at("batch_scale").get<double>();
      EXPECT_LE(bits.at("scheduled").get<double>(), bits.at("dense").get<double>() +
                                                        3 * tensor.at("elements").get<double>() +
                                                        2 * tensor.at("steps").get<double>());
    }
  }
  EXPECT_DOUBLE_EQ(dense, trace.at("per_batch").at("all").at("fp32_bits").at("dense").get<double>());
  const std::string csv = read_text(folder.file("a.csv"));
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), 1 + 2 * tensors);
}

TEST(StorageCli, OptionsChangeTheForm) {
  const auto form = [](std::vector<std::string> more) {
    std::vector<std::string> line{"storage", kSqueezenet, "--json", "-"};
    line.insert(line.end(), more.begin(), more.end());
    const ProgramResult result = run_lacuna(line);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out).at("storage").at(0);
  };
  const json blocks = form({});
  const json channels = form({"--set", "grouping=channels", "--set", "pointer_bits=16"});
  EXPECT_EQ(channels.at("form").at("pointer_bits"), 16);
  EXPECT_NE(blocks.at("per_batch").at("A"), channels.at("per_batch").at("A"));
  const json shallow = form({"--set", "depth=2"});
  EXPECT_EQ(shallow.at("form").at("advance_bits"), 1);
  // Runs of one bit cost more pairs.
  EXPECT_GT(
      form({"--set", "run_bits=1"}).at("per_batch").at("A").at("fp32_bits").at("run_length").get<double>(),
      blocks.at("per_batch").at("A").at("fp32_bits").at("run_length").get<double>());
}

TEST(StorageCli, BacksideReportsStalls) {
  const auto stalls = [](std::vector<std::string> more) {
    std::vector<std::string> line{"storage", "--backside", kSqueezenet, "--json", "-"};
    line.insert(line.end(), more.begin(), more.end());
    const ProgramResult result = run_lacuna(line);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out).at("backside").at(0).at("per_batch").at("all").at("stalls").get<double>();
  };
  // 1x1 layers of few channels give outputs faster than six cycles per block.
  EXPECT_GT(stalls({}), 0);
  EXPECT_LT(stalls({"--set", "schedulers=2"}), stalls({}));
  EXPECT_EQ(stalls({"--set", "block_cycles=1"}), 0);
  const ProgramResult table = run_lacuna({"storage", "--backside", kSqueezenet, kAlexnet});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("6 cycles per block"), std::string::npos);
}

TEST(StorageCli, TotalsOrLayers) {
  const ProgramResult totals = run_lacuna({"storage", kAlexnet});
  EXPECT_EQ(totals.exit_code, 0) << totals.err;
  EXPECT_EQ(totals.out.find("features.0"), std::string::npos);
  const ProgramResult layers = run_lacuna({"storage", kAlexnet, "--layers", "--values", "bfloat16"});
  EXPECT_NE(layers.out.find("features.0"), std::string::npos);
  EXPECT_NE(layers.out.find("bfloat16 values"), std::string::npos);
  EXPECT_NE(layers.out.find("batch of 64"), std::string::npos);
}

// A named configuration and a file are machines of the model as well.
TEST(StorageCli, TakesMachinesOfTheModel) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("m.yaml")) << "arch: tensordash\nname: mine\ndepth: 2\n";
  const ProgramResult file =
      run_lacuna({"storage", kAlexnet, "--config", folder.file("m.yaml"), "--json", "-"});
  ASSERT_EQ(file.exit_code, 0) << file.err;
  const json trace = json::parse(file.out).at("storage").at(0);
  EXPECT_EQ(trace.at("arch"), "mine");
  EXPECT_EQ(trace.at("form").at("depth"), 2);
  EXPECT_EQ(run_lacuna({"storage", kAlexnet, "--arch", "tensordash"}).out,
            run_lacuna({"storage", kAlexnet}).out);
}

TEST(StorageCli, HelpNamesTheParametersOfTheStudy) {
  const ProgramResult help = run_lacuna({"storage", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* part : {"--set grouping=blocks", "--set block_cycles=0", "Examples:"})
    EXPECT_NE(help.out.find(part), std::string::npos) << help.out;
}

TEST(StorageCli, Mistakes) {
  expect_error(run_lacuna({"storage", kAlexnet, "--arch", "tensordahs"}), "did you mean 'tensordash'?");
  expect_error(run_lacuna({"storage", kAlexnet, "--arch", "dense"}), "machines with one: tensordash");
  expect_error(run_lacuna({"storage", kAlexnet, "--set", "grouping=chanels"}), "did you mean 'channels'?");
  expect_error(run_lacuna({"storage", kAlexnet, "--set", "groupnig=channels"}), "did you mean 'grouping'?");
  expect_error(run_lacuna({"storage", kAlexnet, "--set", "depht=2"}), "did you mean 'depth'?");
  expect_error(run_lacuna({"storage", kAlexnet, "--set", "pointer_bits=0"}), "allowed: 1..64 bits");
  expect_error(run_lacuna({"storage", kAlexnet, "--set", "depth"}), "write key=value");
  expect_error(run_lacuna({"storage", kAlexnet, "--values", "fp16"}), "bfloat16");
  expect_error(run_lacuna({"storage", kAlexnet, "--json", "-", "--csv", "-"}), "give one of them a file");
  expect_error(run_lacuna({"storage", kAlexnet, "--json", kAlexnet}), "this is an input");
  expect_error(run_lacuna({"storage", "no-such-file"}), "no-such-file");
}

}  // namespace
}  // namespace lacuna
