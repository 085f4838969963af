// A_forward: A as the forward product multiplies it, where it differs from the A of weight_grad.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/testing.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

const LayerShape kLinear = LayerShape::linear(2, 3, 4);

std::string text_of(const Trace& trace) {
  const std::vector<std::uint8_t> bytes = serialize_trace(trace);
  return {bytes.begin(), bytes.end()};
}

Trace read(const Trace& trace) { return Trace::parse("f", serialize_trace(trace)); }

// A file with the tensors and the version of the metadata given.
std::string error_in(const std::string& version, const std::string& tensors, std::size_t bytes,
                     const std::string& sparsity = "{}") {
  const std::string layers = nlohmann::json::array({{{"name", "l"},
                                                     {"type", "linear"},
                                                     {"batch", 2},
                                                     {"in_features", 3},
                                                     {"out_features", 4},
                                                     {"sparsity", nlohmann::json::parse(sparsity)}}})
                                 .dump();
  const nlohmann::json metadata{
      {"format", "training-trace"}, {"version", version}, {"model", "m"}, {"layers", layers}};
  const std::string header = "{\"__metadata__\":" + metadata.dump() + tensors + "}";
  return error_of([&] { Trace::parse("f", safetensors_file(header, std::string(bytes, '\1'))); });
}

constexpr const char* kForwardMask =
    R"(,"l/A_forward.mask":{"dtype":"U8","shape":[2,1],"data_offsets":[0,2]})";

TEST(AForward, IsMultipliedInForwardOnly) {
  TraceBuilder builder("m");
  builder.add_layer("l", kLinear)
      .mask(Operand::kA, {true, false, false, false, true, false})
      .mask(kAForward, {true, true, true, false, true, true});
  const Trace trace = read(builder.build());
  const Layer& layer = trace.layers().at(0);
  ASSERT_TRUE(layer.a_forward);
  EXPECT_EQ(layer.a.nonzeros, 2);
  EXPECT_EQ(layer.as_multiplied(Operation::kForward).a.nonzeros, 5);
  EXPECT_EQ(layer.as_multiplied(Operation::kInputGrad).a.nonzeros, 5);  // the zeros of its result
  EXPECT_EQ(layer.as_multiplied(Operation::kWeightGrad).a.nonzeros, 2);
  EXPECT_FALSE(layer.as_multiplied(Operation::kForward).a_forward);
}

TEST(AForward, AbsentMeansThatForwardMultipliesA) {
  TraceBuilder builder("m");
  builder.add_layer("l", kLinear).mask(Operand::kA, {true, false, false, false, true, false});
  const Trace trace = read(builder.build());
  EXPECT_FALSE(trace.layers()[0].a_forward);
  EXPECT_EQ(trace.layers()[0].as_multiplied(Operation::kForward).a.nonzeros, 2);
  EXPECT_NE(text_of(trace).find("\"version\":\"1\""), std::string::npos);
}

// Without its mask, a reader would take the forward product to multiply A.
TEST(AForward, IsWrittenEvenWithoutZeros) {
  TraceBuilder builder("m");
  builder.add_layer("l", kLinear)
      .mask(Operand::kA, {true, false, false, false, true, false})
      .mask(kAForward, std::vector<bool>(6, true));
  const Trace trace = builder.build();
  const std::string text = text_of(trace);
  EXPECT_NE(text.find("l/A_forward.mask"), std::string::npos);
  EXPECT_NE(text.find("\"version\":\"3\""), std::string::npos);
  EXPECT_NE(text.find("\\\"A_forward\\\":0.0"), std::string::npos);
  const Trace again = read(trace);
  ASSERT_TRUE(again.layers()[0].a_forward);
  EXPECT_EQ(again.layers()[0].a_forward->zeros(), 0);
  EXPECT_EQ(text_of(again), text);
}

TEST(AForward, HasValuesOfItsOwn) {
  TraceBuilder builder("m");
  builder.add_layer("l", kLinear)
      .values(Operand::kA, std::vector<float>{1, 0, 0, 0, 2, 0})
      .values(kAForward, std::vector<float>{1, 3, 0, 4, 2, 5});
  const Trace trace = read(builder.build());
  const LayerTensor forward = trace.layers()[0].as_multiplied(Operation::kForward).a;
  EXPECT_EQ(forward.values.at(0, 1), 3);
  EXPECT_EQ(forward.zeros(), 1);
  EXPECT_EQ(trace.layers()[0].a.values.at(0, 1), 0);
  // Masks alone lose nothing.
  const Trace masks = Trace::parse("f", serialize_trace(trace, {.values = false}));
  EXPECT_EQ(masks.layers()[0].a_forward->zeros(), 1);
}

TEST(AForward, OfAMatmulIsInTheOrderOfProducts) {
  TraceBuilder builder("m");
  builder.add_layer("l", LayerShape::matmul(2, 1, 2, 1), 2)
      .values(Operand::kA, std::vector<float>{1, 2, 3, 4})
      .values(kAForward, std::vector<float>{5, 6, 7, 0});
  const Trace trace = builder.build();
  const LayerTensor forward = *trace.layers()[0].a_forward;
  ASSERT_EQ(forward.mask.rows, 1);  // [rows, products x channels]
  EXPECT_EQ(forward.values.at(0, 2), 7);
  EXPECT_EQ(text_of(read(trace)), text_of(trace));
}

TEST(AForward, NeedsVersion3) {
  EXPECT_EQ(error_in("3", kForwardMask, 2), "no error");
  for (const char* version : {"1", "2"})
    EXPECT_EQ(error_in(version, kForwardMask, 2),
              std::string("f: layer 'l': A_forward needs format version 3, the file says ") + version +
                  "; write \"version\": \"3\" in the metadata");
}

TEST(AForward, IsCheckedLikeA) {
  EXPECT_NE(error_in("3", R"(,"l/A_forward.mask":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]})", 4)
                .find("A_forward.mask has the shape [2, 2], the layer needs [2, 1]"),
            std::string::npos);
  EXPECT_NE(error_in("3", R"(,"l/A_forwrad.mask":{"dtype":"U8","shape":[2,1],"data_offsets":[0,2]})", 2)
                .find("did you mean 'l/A_forward.mask'?"),
            std::string::npos);
  EXPECT_NE(error_in("3", "", 0, R"({"A_forward": 0.5})").find("A_forward has neither mask nor values"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna
