// Layers and products that a trace says it does not hold.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/testing.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

// One linear layer, 4 samples of 8 -> 4 (32 MACs each), of a batch of 8.
Trace parse(const std::string& left_out) {
  const json layers = json::array(
      {{{"name", "l"}, {"type", "linear"}, {"in_features", 8}, {"out_features", 4}, {"batch", 4}}});
  json metadata{{"format", "training-trace"}, {"version", "1"}, {"model", "m"}, {"batch", "8"}};
  metadata["layers"] = layers.dump();
  if (!left_out.empty()) metadata["left_out"] = left_out;
  return Trace::parse("f", safetensors_file(json{{"__metadata__", metadata}}.dump(), ""));
}

std::string refusal(const std::string& left_out) {
  return error_of([&] { parse(left_out); });
}

TEST(LeftOut, TheShareIsOfTheWholeBatch) {
  EXPECT_FALSE(parse("").info().recorded_share);
  EXPECT_FALSE(parse("[]").info().recorded_share);
  const Trace trace = parse(
      R"([{"name":"r","type":"LSTM","macs":80},{"name":"x","type":"Odd"},{"name":"y","type":"Odd","macs":null}])");
  const std::vector<LeftOut> expected{{"r", "LSTM", 80}, {"x", "Odd", {}}, {"y", "Odd", {}}};
  EXPECT_EQ(trace.info().left_out, expected);
  EXPECT_DOUBLE_EQ(trace.info().recorded_share.value(), 256.0 / (256 + 80));
  EXPECT_FALSE(parse(R"([{"name":"x","type":"Odd"}])").info().recorded_share);
}

TEST(LeftOut, SurvivesWriting) {
  TraceBuilder builder("t");
  builder.info().model = "m";
  builder.info().left_out = {{"r\n", "LSTM", 80}, {"x", "Odd", {}}};
  builder.add_layer("l", LayerShape::linear(4, 8, 4));
  const Trace trace = builder.build();
  EXPECT_TRUE(trace.info().recorded_share);
  const Trace again = Trace::parse("again", serialize_trace(trace));
  EXPECT_EQ(again.info().left_out, trace.info().left_out);
  EXPECT_EQ(again.info().recorded_share, trace.info().recorded_share);
}

TEST(LeftOut, WhatIsNotAListOfPartsIsRefused) {
  EXPECT_EQ(refusal("{}"), "f: 'left_out' of the metadata is not a list; correct it or leave it out");
  EXPECT_EQ(refusal("[1]"), "f: entry 0 of 'left_out' is not an object; correct it or leave it out");
  EXPECT_EQ(refusal(R"([{"type":"t"}])"),
            "f: entry 0 of 'left_out' has no 'name'; correct it or leave it out");
  EXPECT_EQ(refusal(R"([{"name":"n","type":1}])"),
            "f: entry 0 of 'left_out' has no 'type'; correct it or leave it out");
  for (const char* macs : {"-1", "1.5", "\"3\"", "1152921504606846977"}) {
    EXPECT_EQ(refusal(std::string(R"([{"name":"n","type":"t","macs":)") + macs + "}]"),
              "f: entry 0 of 'left_out' has 'macs' that are not a number from 0 to 2^60; correct it or leave "
              "it out");
  }
  EXPECT_NE(refusal("[").find("'left_out' is not JSON from byte"), std::string::npos);
}

}  // namespace
}  // namespace lacuna
