// Products of two activations and recurrent layers: what a file says of them, in which version, and in which
// order their rows come.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/testing.hpp"
#include "trace/format/layer_list.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/synthetic/synthetic_text.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

const std::string kCorrect = "; correct the layer's description or record the trace again";

// Two heads of one sample: [3 rows, 2 channels] times [2 channels, 4 columns] each.
json matmul_layer() {
  return {{"name", "m"},      {"type", "matmul"},  {"batch", 2}, {"rows", 3},
          {"in_features", 2}, {"out_features", 4}, {"steps", 2}};
}

json recurrent_layer() {
  return {{"name", "r"},       {"type", "linear"}, {"batch", 6},       {"in_features", 3},
          {"out_features", 2}, {"steps", 3},       {"recurrent", true}};
}

struct File {
  json layers;
  std::string version = "2";
  json tensors = json::object();
  std::string data;

  explicit File(const json& layer) : layers(json::array({layer})) {}

  File& with(const char* key, const json& value) {
    layers[0][key] = value;
    return *this;
  }
  File& mask(const std::string& name, const std::vector<int>& shape, std::string_view bytes) {
    tensors[name] = {
        {"dtype", "U8"}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
    return *this;
  }
  Trace open() const {
    json header = tensors;
    header["__metadata__"] = {
        {"format", "training-trace"}, {"version", version}, {"model", "m"}, {"layers", layers.dump()}};
    return Trace::parse("f", safetensors_file(header.dump(), data));
  }
  std::string error() const {
    return error_of([&] { open(); });
  }
};

TEST(ProductLayers, AreReadAsGroupsOfOneLayer) {
  const std::string a("\x01\x02\x03\x00\x01\x03", 6), w("\x01\x02\x03\x00\x01\x01\x01\x01", 8);
  const Trace trace =
      File(matmul_layer()).mask("m/A.mask", {2, 3, 1}, a).mask("m/W.mask", {2, 4, 1}, w).open();
  const Layer& layer = trace.layers()[0];
  EXPECT_EQ(layer.shape, LayerShape::matmul(2, 3, 2, 4));
  EXPECT_EQ(layer.shape.macs(), 2 * 3 * 2 * 4);
  EXPECT_EQ(layer.samples(), 1);
  EXPECT_EQ(trace.batch(), 1);
  // A row holds that row of every product.
  ASSERT_EQ(layer.a.mask.rows, 3);
  ASSERT_EQ(layer.a.mask.channels, 4);
  EXPECT_EQ(layer.a.mask.row(0)[0], 0b0001);
  EXPECT_EQ(layer.a.mask.row(1)[0], 0b0110);
  EXPECT_EQ(layer.a.mask.row(2)[0], 0b1111);
  EXPECT_EQ(layer.a.nonzeros, 7);
  EXPECT_EQ(layer.w.mask.rows, 8);
  EXPECT_EQ(layer.g.mask.rows, 3);
  EXPECT_EQ(layer.g.mask.channels, 8);
  EXPECT_EQ(layer.g.zeros(), 0);
  // The file that is written is the one that was read.
  const std::vector<std::uint8_t> written = serialize_trace(trace);
  const std::string text(written.begin(), written.end());
  EXPECT_NE(text.find("\"version\":\"2\""), std::string::npos);
  EXPECT_NE(text.find("\"m/A.mask\":{\"dtype\":\"U8\",\"shape\":[2,3,1]"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 14), a + w);
}

TEST(ProductLayers, OldLayersKeepTheOldVersion) {
  const Trace trace = TraceBuilder("x").add_layer("l", LayerShape::linear(6, 3, 2), 3).build();
  const std::vector<std::uint8_t> bytes = serialize_trace(trace);
  EXPECT_NE(std::string(bytes.begin(), bytes.end()).find("\"version\":\"1\""), std::string::npos);
}

TEST(ProductLayers, RecurrentLayersKnowTheirSteps) {
  const Trace trace = File(recurrent_layer()).open();
  const Layer& layer = trace.layers()[0];
  EXPECT_EQ(layer.shape, LayerShape::recurrent(3, 2, 3, 2));
  EXPECT_EQ(layer.shape.rows_at_once(Operation::kForward), 2);
  EXPECT_EQ(layer.shape.rows_at_once(Operation::kInputGrad), 2);
  EXPECT_EQ(layer.shape.rows_at_once(Operation::kWeightGrad), 6);
  EXPECT_EQ(layer.shape.describe(), "recurrent 3->2 x3x2");
  EXPECT_EQ(Trace::parse("f", serialize_trace(trace)).layers()[0].shape, layer.shape);
  EXPECT_EQ(File(recurrent_layer()).with("recurrent", false).open().layers()[0].shape.sequence, 1);
}

TEST(ProductLayers, RoundTripWhateverTheirChannels) {
  for (const char* text : {"matmul rows=5 in=13 out=7 batch=6 steps=3 A=0.5 W=0.3 G=0.7",
                           "matmul rows=1 in=1 out=9 batch=5 A=0.5 G=dense",
                           "matmul rows=9 in=16 out=8 A=dense W=zero G=channel:0.5",
                           "recurrent in=5 out=9 steps=4 batch=8 A=0.4 W=0.5 G=zero"}) {
    SCOPED_TRACE(text);
    for (const SyntheticContent content : {SyntheticContent::kMasks, SyntheticContent::kBoth}) {
      SyntheticSpec spec;
      spec.content = content;
      spec.layers.push_back(parse_synthetic_layer(text, 0, {"0.5", "0.5", "0.5"}, "here"));
      const Trace trace = make_synthetic(spec);
      const std::vector<std::uint8_t> bytes = serialize_trace(trace);
      const Trace again = Trace::parse("f", bytes);
      EXPECT_EQ(serialize_trace(again), bytes);
      const Layer &one = trace.layers()[0], &two = again.layers()[0];
      EXPECT_EQ(one.shape, two.shape);
      for (const Operand role : kOperands) {
        const LayerTensor &left = one.tensor(role), &right = two.tensor(role);
        ASSERT_EQ(left.mask.rows, right.mask.rows);
        for (std::int64_t r = 0; r < left.mask.rows; ++r) {
          for (std::int64_t c = 0; c < left.mask.channels; ++c) {
            ASSERT_EQ(left.mask.bit(r, c), right.mask.bit(r, c));
            if (!left.values) continue;
            ASSERT_EQ(left.values.at(r, c) != 0, left.mask.bit(r, c));
            ASSERT_EQ(left.values.at(r, c), right.values.at(r, c));
          }
        }
      }
    }
  }
}

TEST(ProductLayers, NeedVersion2) {
  File old(matmul_layer());
  old.version = "1";
  EXPECT_EQ(old.error(),
            "f: layer 'm': type 'matmul' needs format version 2, the file says 1; write "
            "\"version\": \"2\" in the metadata");
  File flagged(recurrent_layer());
  flagged.version = "1";
  EXPECT_EQ(flagged.error(),
            "f: layer 'r': 'recurrent' needs format version 2, the file says 1; write "
            "\"version\": \"2\" in the metadata");
  File later(recurrent_layer());
  later.version = "4";
  EXPECT_EQ(later.error(), "f: 'version' is '4', this program reads '1' to '3'; record the trace again");
}

TEST(ProductLayers, RefuseWhatDoesNotFit) {
  EXPECT_EQ(File(matmul_layer()).mask("m/A.mask", {3, 2, 1}, std::string(6, '\1')).error(),
            "f: layer 'm': A.mask has the shape [3, 2, 1], the layer needs [2, 3, 1]" + kCorrect);
  EXPECT_EQ(File(matmul_layer()).mask("m/W.mask", {8, 1}, std::string(8, '\1')).error(),
            "f: layer 'm': W.mask has the shape [8, 1], the layer needs [2, 4, 1]" + kCorrect);
  EXPECT_EQ(
      File(matmul_layer()).mask("m/A.mask", {2, 3, 1}, std::string(6, '\4')).error(),
      "f: layer 'm': A.mask: row 0 has a bit set past its 2 channels; the mask was packed in another bit "
      "or channel order; record the trace again");
  EXPECT_EQ(File(matmul_layer()).with("sparsity", {{"W", 0.5}}).error(),
            "f: layer 'm': W has neither mask nor values, but 'sparsity' says 0.5 of it is zero; the tensor "
            "was lost; record the trace again");
  EXPECT_EQ(File(matmul_layer()).with("steps", 3).error(),
            "f: layer 'm': its 2 products are not a whole number of samples of 3 steps" + kCorrect);
  EXPECT_EQ(File(matmul_layer()).with("recurrent", true).error(),
            "f: layer 'm': 'recurrent' is true, but a matmul layer has no time steps that need each other" +
                kCorrect);
  EXPECT_EQ(File(recurrent_layer()).with("recurrent", 1).error(),
            "f: layer 'r': 'recurrent' is neither true nor false" + kCorrect);
  File incomplete(matmul_layer());
  incomplete.layers[0].erase("rows");
  EXPECT_EQ(incomplete.error(), "f: layer 'm': 'rows' is missing" + kCorrect);
  EXPECT_EQ(File(matmul_layer()).with("type", "matmull").error(),
            "f: layer 'm': unknown type 'matmull'; did you mean 'matmul'? known: conv2d, linear, matmul");
}

TEST(ProductLayers, RefuseSizesThatOverflow) {
  EXPECT_EQ(File(matmul_layer()).with("batch", INT64_MAX).error(),
            "f: layer 'm': 'batch' is 9223372036854775807, outside 1..16777216" + kCorrect);
  EXPECT_EQ(File(matmul_layer()).with("rows", 0).error(),
            "f: layer 'm': 'rows' is 0, outside 1..16777216" + kCorrect);
  EXPECT_EQ(File(matmul_layer()).with("steps", 1).with("batch", 1 << 20).with("in_features", 1 << 20).error(),
            "f: layer 'm': batch x in_features is 1099511627776, outside 1..16777216" + kCorrect);
  EXPECT_EQ(File(matmul_layer())
                .with("steps", 1)
                .with("batch", 1)
                .with("rows", 1 << 24)
                .with("in_features", 1 << 24)
                .error(),
            "f: layer 'm': the product of the layer's sizes overflows 63 bits" + kCorrect);
}

}  // namespace
}  // namespace lacuna
