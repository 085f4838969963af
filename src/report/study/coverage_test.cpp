#include "report/study/coverage.hpp"

#include <gtest/gtest.h>

#include "report/compare/ranking.hpp"
#include "report/result/potential_report.hpp"
#include "report/result/result_csv.hpp"
#include "report/result/result_json.hpp"
#include "report/result/result_tables.hpp"
#include "report/result/run_fields.hpp"
#include "report/testing/example_runs.hpp"

namespace lacuna {
namespace {

TraceInfo partial() {
  TraceInfo info;
  info.model = "net";
  info.left_out = {
      {"up", "ConvTranspose2d", 10}, {"rnn", "LSTM", 250}, {"matmul", "matmul", 3}, {"x", "Bilinear", 1}};
  info.recorded_share = 0.7399;
  return info;
}

TEST(Coverage, NamesTheLargestPartsFirst) {
  EXPECT_EQ(
      coverage_text(partial()),
      "73 % of the network's MACs recorded; left out: rnn (LSTM), up (ConvTranspose2d), matmul and 1 more");
  EXPECT_EQ(total_coverage(partial()), ", of 73 % of the network");
  EXPECT_EQ(coverage_text({}), "");
  EXPECT_EQ(total_coverage({}), "");
}

TEST(Coverage, WhatIsNotKnownIsSaid) {
  TraceInfo info = partial();
  info.left_out[0].macs.reset();
  EXPECT_EQ(total_coverage(info), ", of at most 73 % of the network");
  info.left_out = {{"x\x1b", "Custom", {}}};
  info.recorded_share.reset();
  EXPECT_EQ(coverage_text(info), "a part of the network left out: x? (Custom)");
  EXPECT_EQ(total_coverage(info), ", of a part of the network");
  EXPECT_EQ(step_json("t", info, 1)["left_out"].dump(),
            R"([{"name":"x\u001b","type":"Custom","macs":null}])");
  // Nearly all is not all.
  info = partial();
  info.recorded_share = 0.9999;
  EXPECT_EQ(total_coverage(info), ", of 99 % of the network");
}

TEST(Coverage, ShareIsKnownOrNot) {
  EXPECT_EQ(coverage_share({}), 1.0);
  EXPECT_EQ(coverage_share(partial()), 0.7399);
  TraceInfo unknown;
  unknown.left_out = {{"x", "Custom", {}}};
  EXPECT_EQ(coverage_share(unknown), std::nullopt);
  RunResult run = testing::example_run("net", "tensordash", 0.5);
  run.info.left_out = partial().left_out;
  run.info.recorded_share = 0.74;
  EXPECT_NE(results_to_csv({{run}}).find("\nnet_p50.safetensors,net,0.5,0.74,4,tensordash,"),
            std::string::npos)
      << results_to_csv({{run}});
}

TEST(Coverage, StandsBesideEveryTotal) {
  RunResult run = testing::example_run("net", "tensordash", 0.5);
  run.info.left_out = partial().left_out;
  run.info.recorded_share = 0.74;
  const std::string tables = result_tables({run}, false, {});
  EXPECT_NE(tables.find("of 74 % of the network", tables.find("all, batch of")), std::string::npos) << tables;
  EXPECT_NE(tables.find("74 % of the network's MACs recorded; left out: rnn (LSTM)"), std::string::npos)
      << tables;
  const std::string ranked = ranking_table({run}, {}, RankBy::kTime, {});
  EXPECT_NE(ranked.find("on net, of 74 % of the network, ranked by"), std::string::npos) << ranked;
  RunResult other = testing::example_run("other", "tensordash", 0.5);
  EXPECT_NE(result_tables({run, other}, false, {}).find("net, of 74 % of the network "), std::string::npos);
  const std::string json = results_to_json({{run}});
  EXPECT_NE(json.find("\"recorded_share\": 0.74,"), std::string::npos) << json;
  const ResultFile read = parse_results_json(json, "r.json");
  EXPECT_EQ(read.runs[0].info.left_out, run.info.left_out);
  EXPECT_EQ(read.runs[0].info.recorded_share, 0.74);
}

}  // namespace
}  // namespace lacuna
