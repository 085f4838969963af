// lacuna inspect --storage and --backside as a user types them.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/run_program.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using testing_support::ProgramResult;
using testing_support::read_text;
using testing_support::run_lacuna;
using testing_support::TemporaryFolder;

const std::string kAlexnet = LACUNA_SOURCE_DIR "/data/alexnet_p100.safetensors.zst";
const std::string kSqueezenet = LACUNA_SOURCE_DIR "/data/squeezenet_p100.safetensors.zst";

void expect_error(const ProgramResult& result, const std::string& part) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST(InspectStorageCli, TablesJsonAndCsvAgree) {
  const TemporaryFolder folder;
  const ProgramResult table = run_lacuna(
      {"inspect", "--storage", kAlexnet, "--json", folder.file("a.json"), "--csv", folder.file("a.csv")});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("3 bits idx, 2 bits AS"), std::string::npos);
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

TEST(InspectStorageCli, OptionsChangeTheForm) {
  const auto form = [](std::vector<std::string> more) {
    std::vector<std::string> line{"inspect", "--storage", kSqueezenet, "--json", "-"};
    line.insert(line.end(), more.begin(), more.end());
    const ProgramResult result = run_lacuna(line);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out).at("storage").at(0);
  };
  const json blocks = form({});
  const json channels = form({"--grouping", "channels", "--pointer-bits", "16"});
  EXPECT_EQ(channels.at("form").at("pointer_bits"), 16);
  EXPECT_NE(blocks.at("per_batch").at("A"), channels.at("per_batch").at("A"));
  const json shallow = form({"--set", "depth=2"});
  EXPECT_EQ(shallow.at("form").at("advance_bits"), 1);
  // Runs of one bit cost more pairs.
  EXPECT_GT(form({"--run-bits", "1"}).at("per_batch").at("A").at("fp32_bits").at("run_length").get<double>(),
            blocks.at("per_batch").at("A").at("fp32_bits").at("run_length").get<double>());
}

TEST(InspectStorageCli, BacksideReportsStalls) {
  const auto stalls = [](std::vector<std::string> more) {
    std::vector<std::string> line{"inspect", "--backside", kSqueezenet, "--json", "-"};
    line.insert(line.end(), more.begin(), more.end());
    const ProgramResult result = run_lacuna(line);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out).at("backside").at(0).at("per_batch").at("all").at("stalls").get<double>();
  };
  // 1x1 layers of few channels give outputs faster than six cycles a block.
  EXPECT_GT(stalls({}), 0);
  EXPECT_LT(stalls({"--schedulers", "2"}), stalls({}));
  EXPECT_EQ(stalls({"--block-cycles", "1"}), 0);
  const ProgramResult table = run_lacuna({"inspect", "--backside", "--summary", kSqueezenet, kAlexnet});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("6 cycles a block"), std::string::npos);
}

TEST(InspectStorageCli, Mistakes) {
  expect_error(run_lacuna({"inspect", "--storage", "--backside", kAlexnet}), "one of them at a time");
  expect_error(run_lacuna({"inspect", "--grouping", "blocks", kAlexnet}), "add --storage");
  expect_error(run_lacuna({"inspect", "--storage", "--schedulers", "2", kAlexnet}), "add --backside");
  expect_error(run_lacuna({"inspect", "--set", "depth=2", kAlexnet}), "--storage or --backside");
  expect_error(run_lacuna({"inspect", "--storage", "--scheduled", "A", kAlexnet}), "leave it out");
  expect_error(run_lacuna({"inspect", "--storage", "--grouping", "chanels", kAlexnet}),
               "did you mean 'channels'?");
  expect_error(run_lacuna({"inspect", "--storage", "--values", "fp16", kAlexnet}), "bfloat16");
  expect_error(run_lacuna({"inspect", "--storage", "--pointer-bits", "0", kAlexnet}), "--pointer-bits");
  expect_error(run_lacuna({"inspect", "--storage", "--set", "depht=2", kAlexnet}), "did you mean 'depth'?");
  expect_error(run_lacuna({"inspect", "--storage", "no-such-file"}), "no-such-file");
}

}  // namespace
}  // namespace lacuna
