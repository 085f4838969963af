// Operations that a recorded step ran: not always all three.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/testing.hpp"
#include "trace/format/layer_list.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

const LayerShape kPlain = LayerShape::linear(2, 3, 4);

std::string error_in_operations(const std::string& operations, int version = 3) {
  const std::string layer =
      R"({"name":"l","type":"linear","batch":2,"in_features":3,"out_features":4,"operations":)" + operations +
      "}";
  return error_of([&] { parse_layer_list("[" + layer + "]", "f", version); });
}

TEST(RecordedOperations, FollowFromThePlaceOfALayer) {
  TraceBuilder builder("m");
  builder.add_layer("a", kPlain).add_layer("b", kPlain);
  const Trace trace = builder.build();
  for (const Operation op : kOperations) {
    EXPECT_EQ(trace.runs(0, op), op != Operation::kInputGrad);
    EXPECT_TRUE(trace.runs(1, op));
  }
  EXPECT_EQ(needed_version(trace.layers()), 1);
}

TEST(RecordedOperations, AreWrittenAndRead) {
  TraceBuilder builder("m");
  builder.add_layer("trained input", kPlain).operations(PerOperation<bool>{true, true, true});
  builder.add_layer("frozen", kPlain).operations(PerOperation<bool>{true, true, false});
  builder.add_layer("inference", kPlain).operations(PerOperation<bool>{true, false, false});
  builder.add_layer("plain", kPlain);
  const Trace built = builder.build();
  EXPECT_EQ(needed_version(built.layers()), 3);
  const Trace trace = Trace::parse("f", serialize_trace(built));
  EXPECT_TRUE(trace.runs(0, Operation::kInputGrad));
  EXPECT_TRUE(trace.runs(1, Operation::kInputGrad));
  EXPECT_FALSE(trace.runs(1, Operation::kWeightGrad));
  EXPECT_EQ(trace.layers()[2].operations, (PerOperation<bool>{true, false, false}));
  EXPECT_FALSE(trace.layers()[3].operations);
  EXPECT_TRUE(trace.runs(3, Operation::kWeightGrad));
}

TEST(RecordedOperations, AreChecked) {
  EXPECT_EQ(error_in_operations(R"(["forward"])"), "no error");
  EXPECT_NE(error_in_operations(R"(["foward"])").find("did you mean 'forward'"), std::string::npos);
  EXPECT_NE(error_in_operations("[3]").find("unknown operation"), std::string::npos);
  EXPECT_NE(error_in_operations("[]").find("is not a list of operations"), std::string::npos);
  EXPECT_NE(error_in_operations(R"("forward")").find("is not a list of operations"), std::string::npos);
  EXPECT_NE(error_in_operations(R"(["forward","forward"])").find("lists forward twice"), std::string::npos);
  EXPECT_NE(error_in_operations(R"(["forward"])", 2).find("needs format version 3"), std::string::npos);
}

}  // namespace
}  // namespace lacuna
