#include "report/result/potential_report.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

Inspection inspection() {
  TraceBuilder builder("net");
  builder.info().batch = 4;
  builder.info().progress = 0.5;
  builder.add_layer("a,\"b\"", LayerShape::conv2d(2, 4, 3, {1, 1}, {1, 1}))
      .mask(Operand::kA, {1, 0, 0, 0, 1, 1, 0, 0})
      .mask(Operand::kG, {1, 0, 0, 0, 0, 0});
  builder.add_layer("fc", LayerShape::linear(4, 2, 2), 2).mask(Operand::kW, {0, 0, 0, 0});
  const Trace trace = builder.build();
  return {"x.safetensors", trace.info(), trace.batch(), trace_potential(trace, OperandRule::kSparser)};
}

TEST(PotentialReport, Table) {
  EXPECT_EQ(
      inspection_table(inspection(), {}),
      "net, progress 50 %\n"
      "                                      zeros %              potential speedup\n"
      "layer       shape             MACs       A      W     G    forward  input_grad  weight_grad   all\n"
      "----------  ----------------  ----    ----  -----  ----    -------  ----------  -----------  ----\n"
      "a,\"b\"       1x1 4->3 @1x1 n2    24    62.5    0.0  83.3     2.67 A                   6.00 G  3.69\n"
      "fc          linear 2->2 x4      16     0.0  100.0   0.0      inf W       inf W       1.00 G  3.00\n"
      "----------  ----------------  ----    ----  -----  ----    -------  ----------  -----------  ----\n"
      "batch of 4                      80    37.5   40.0  50.0       4.44         inf         2.00  3.31\n");
}

TEST(PotentialReport, SummaryHasARowForEachTrace) {
  const std::string text = inspection_summary({inspection(), inspection()}, {.width = 160});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
}

TEST(PotentialReport, Json) {
  const auto json = nlohmann::json::parse(inspections_to_json({inspection(), inspection()}));
  EXPECT_EQ(json["schema"], 1);
  ASSERT_EQ(json["traces"].size(), 2u);
  const auto& trace = json["traces"][0];
  EXPECT_EQ(trace["trace"], "x.safetensors");
  EXPECT_EQ(trace["model"], "net");
  EXPECT_EQ(trace["progress"], 0.5);
  EXPECT_FALSE(trace.contains("accuracy"));
  EXPECT_EQ(trace["batch"], 4);
  EXPECT_EQ(trace["zeros_by_macs"]["W"], 0.4);
  const auto& conv = trace["layers"][0];
  EXPECT_EQ(conv["name"], "a,\"b\"");
  EXPECT_EQ(conv["type"], "conv2d");
  EXPECT_EQ(conv["kernel"], (nlohmann::json{1, 1}));
  EXPECT_EQ(conv["batch_scale"], 2);
  EXPECT_EQ(conv["zeros"]["A"], 0.625);
  ASSERT_EQ(conv["ops"].size(), 2u);
  EXPECT_EQ(conv["ops"][0]["op"], "forward");
  EXPECT_EQ(conv["ops"][0]["targeted"], "A");
  EXPECT_EQ(conv["ops"][0]["remaining_macs"], 9);
  const auto& linear = trace["layers"][1];
  EXPECT_EQ(linear["type"], "linear");
  EXPECT_EQ(linear["steps"], 2);
  EXPECT_TRUE(linear["ops"][0]["potential"].is_null());
  EXPECT_EQ(trace["total"]["all"]["macs"], 24 * 2 + 16 * 3);
  EXPECT_EQ(trace["per_batch"]["forward"]["remaining_macs"], 18);
  EXPECT_EQ(linear["ops"][1]["needed_macs"], linear["ops"][1]["remaining_macs"]);
}

// Where A is zero, nobody needs its gradient: 3 of 4 outputs, each of 2 MACs.
TEST(PotentialReport, NeededResults) {
  TraceBuilder builder("relu");
  builder.add_layer("first", LayerShape::linear(2, 2, 2));
  builder.add_layer("second", LayerShape::linear(2, 2, 2)).mask(Operand::kA, {1, 0, 0, 0});
  const Trace trace = builder.build();
  const Inspection relu{"x", trace.info(), trace.batch(), trace_potential(trace, OperandRule::kSparser)};
  const auto json = nlohmann::json::parse(inspections_to_json({relu}))["traces"][0];
  const auto& grad = json["layers"][1]["ops"][1];
  EXPECT_EQ(grad["op"], "input_grad");
  EXPECT_EQ(grad["remaining_macs"], 8);
  EXPECT_EQ(grad["needed_macs"], 2);
  EXPECT_EQ(grad["needed_potential"], 4);
  EXPECT_EQ(json["total"]["all"]["needed_macs"], json["total"]["all"]["remaining_macs"].get<double>() - 6);
  EXPECT_NE(inspection_table(relu, {}).find("needed only"), std::string::npos);
  EXPECT_NE(inspections_to_csv({relu}).find(",input_grad,G,8,8,8,1,2,4\n"), std::string::npos)
      << inspections_to_csv({relu});
}

TEST(PotentialReport, Csv) {
  const std::string text = inspections_to_csv({inspection()});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
  EXPECT_NE(
      text.find(
          "\nx.safetensors,net,0.5,1,0,\"a,\"\"b\"\"\",conv2d,1x1 4->3 @1x1,2,2,0.625,0,0.8333333333333334,"
          ",forward,A,24,9,9,2.6666666666666665,9,2.6666666666666665\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(",fc,linear,linear 2->2 x4,4,2,0,1,0,,forward,W,16,0,0,,0,\n"), std::string::npos)
      << text;
}

// SWAT: all activations in the forward product, the largest in weight_grad.
TEST(PotentialReport, ActivationsOfTheForwardProduct) {
  TraceBuilder builder("swat");
  builder.add_layer("first", LayerShape::linear(2, 4, 1)).mask(Operand::kA, {1, 1, 1, 1, 1, 1, 1, 1});
  builder.add_layer("second", LayerShape::linear(2, 4, 1))
      .mask(Operand::kA, {1, 0, 0, 0, 0, 0, 0, 1})
      .mask(kAForward, {1, 1, 1, 0, 1, 1, 1, 1});
  const Trace trace = builder.build();
  const Inspection swat{"x", trace.info(), trace.batch(), trace_potential(trace, OperandRule::kSparser)};
  const std::string table = inspection_table(swat, {});
  EXPECT_NE(table.find("A  A_forward"), std::string::npos) << table;
  EXPECT_NE(table.find("75.0       12.5"), std::string::npos) << table;
  const auto json = nlohmann::json::parse(inspections_to_json({swat}))["traces"][0];
  EXPECT_EQ(json["layers"][1]["zeros"]["A_forward"], 0.125);
  EXPECT_FALSE(json["layers"][0]["zeros"].contains("A_forward"));
  EXPECT_EQ(json["zeros_by_macs"]["A_forward"], 0.0625);
  EXPECT_NE(inspections_to_csv({swat}).find(",0.75,0,0,0.125,forward,A,8,7,7,"), std::string::npos);
}

}  // namespace
}  // namespace lacuna
