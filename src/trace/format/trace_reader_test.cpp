// Files whose container is sound and whose content is not: each case names the defect and the whole message.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/testing.hpp"
#include "trace/trace.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

// A trace of one 1x1 convolution, 3 channels to 2 over a 1x2 image, that each test spoils in one place.
struct Draft {
  json metadata{{"format", "training-trace"}, {"version", "1"}, {"model", "m"}};
  json layers = json::array({{{"name", "c"},
                              {"type", "conv2d"},
                              {"in_channels", 3},
                              {"out_channels", 2},
                              {"kernel", {1, 1}},
                              {"stride", {1, 1}},
                              {"padding", {0, 0}},
                              {"dilation", {1, 1}},
                              {"groups", 1},
                              {"batch", 1},
                              {"input_hw", {1, 2}},
                              {"output_hw", {1, 2}}}});
  json tensors = json::object();
  std::string data;

  Draft& tensor(const std::string& name, const std::string& dtype, const std::vector<int>& shape,
                std::string_view bytes) {
    tensors[name] = {
        {"dtype", dtype}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
    return *this;
  }
  Draft& floats(const std::string& name, const std::vector<int>& shape, const std::vector<float>& values) {
    return tensor(name, "F32", shape,
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }
  Draft& layer(const char* key, const json& value) {
    layers[0][key] = value;
    return *this;
  }
  std::vector<std::uint8_t> bytes() const {
    json header = tensors;
    header["__metadata__"] = metadata;
    if (!metadata.contains("layers")) header["__metadata__"]["layers"] = layers.dump();
    return safetensors_file(header.dump(), data);
  }
  Trace open() const { return Trace::parse("f", bytes()); }
  std::string error() const {
    return error_of([&] { open(); });
  }
};

TEST(TraceReader, AbsentTensorsHaveNoZeros) {
  const Trace trace = Draft().open();
  const Layer& layer = trace.layers().at(0);
  EXPECT_EQ(layer.a.zeros(), 0);
  EXPECT_EQ(layer.a.elements(), 6);
  EXPECT_EQ(layer.a.mask.row_bytes, 0);
  EXPECT_EQ(layer.a.mask.row(1)[0], 0b111);
  EXPECT_FALSE(layer.a.values);
  EXPECT_EQ(trace.batch(), 1);
}

TEST(TraceReader, MaskFollowsFromValuesAndMinusZeroIsZero) {
  const Trace trace = Draft().floats("c/A", {1, 1, 2, 3}, {0, -0.0F, 1e-45F, -2, 0, 3}).open();
  const Layer& layer = trace.layers().at(0);
  EXPECT_EQ(layer.a.mask.row(0)[0], 0b100);  // the smallest denormal is not zero
  EXPECT_EQ(layer.a.mask.row(1)[0], 0b101);
  EXPECT_EQ(layer.a.nonzeros, 3);
  EXPECT_EQ(layer.a.values.at(1, 0), -2.0F);

  const Trace narrow =
      Draft()
          .tensor("c/G", "BF16", {1, 1, 2, 2}, std::string_view("\x00\x80\x80\x3f\x00\x00\x01\x00", 8))
          .open();
  EXPECT_EQ(narrow.layers().at(0).g.mask.row(0)[0], 0b10);
  EXPECT_EQ(narrow.layers().at(0).g.mask.row(1)[0], 0b10);
}

TEST(TraceReader, RefusesNotANumberAndInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Draft().floats("c/A", {1, 1, 2, 3}, {0, 1, 2, 3, nan, 5}).error(),
            "f: layer 'c': A: element 4 (row 1, channel 1) is NaN; the training diverged at this step; "
            "record another one");
  EXPECT_EQ(
      Draft().floats("c/W", {2, 1, 1, 3}, {0, 1, -inf, 3, 4, 5}).error(),
      "f: layer 'c': W: element 2 (row 0, channel 2) is infinite; the training diverged at this step; record "
      "another one");
  EXPECT_EQ(
      Draft().tensor("c/G", "BF16", {1, 1, 2, 2}, std::string_view("\0\0\0\0\x80\xff\0\0", 8)).error(),
      "f: layer 'c': G: element 2 (row 1, channel 0) is infinite; the training diverged at this step; record "
      "another one");
  EXPECT_EQ(Draft()
                .floats("c/A", {1, 1, 2, 3}, {0, 1, 2, 3, nan, 5})
                .tensor("c/A.mask", "U8", {1, 1, 2, 1}, "\6\7")
                .error(),
            "f: layer 'c': A: element 4 (row 1, channel 1) is NaN; the training diverged at this step; "
            "record another one");
}

TEST(TraceReader, RefusesMasksThatDisagreeWithValues) {
  const auto both = [](std::string_view mask) {
    return Draft()
        .floats("c/A", {1, 1, 2, 3}, {0, 1, 2, 3, -0.0F, 5})
        .tensor("c/A.mask", "U8", {1, 1, 2, 1}, mask)
        .error();
  };
  EXPECT_EQ(both("\6\5"), "no error");
  EXPECT_EQ(
      both("\6\7"),
      "f: layer 'c': A: element 4 (row 1, channel 1) is -0, but its mask bit is 1; mask and values come from "
      "different steps; record the trace again");
  EXPECT_EQ(
      both("\2\5"),
      "f: layer 'c': A: element 2 (row 0, channel 2) is 2, but its mask bit is 0; mask and values come from "
      "different steps; record the trace again");
}

TEST(TraceReader, RefusesBitsPastTheChannels) {
  EXPECT_EQ(
      Draft().tensor("c/A.mask", "U8", {1, 1, 2, 1}, "\7\17").error(),
      "f: layer 'c': A.mask: row 1 has a bit set past its 3 channels; the mask was packed in another bit or "
      "channel order; record the trace again");
}

TEST(TraceReader, RefusesTensorsThatDoNotFitTheirLayer) {
  EXPECT_EQ(
      Draft().tensor("c/A.mask", "U8", {1, 2, 1, 1}, "\7\7").error(),
      "f: layer 'c': A.mask has the shape [1, 2, 1, 1], the layer needs [1, 1, 2, 1]; correct the layer's "
      "description or record the trace again");
  EXPECT_EQ(
      Draft().tensor("c/G.mask", "U8", {2}, "\3\3").error(),
      "f: layer 'c': G.mask has the shape [2], the layer needs [1, 1, 2, 1]; correct the layer's description "
      "or record the trace again");
  EXPECT_EQ(Draft().floats("c/W", {2, 3}, {1, 1, 1, 1, 1, 1}).error(),
            "f: layer 'c': W has the shape [2, 3], the layer needs [2, 1, 1, 3]; correct the layer's "
            "description or "
            "record the trace again");
  EXPECT_EQ(Draft().tensor("c/A.mask", "I8", {1, 1, 2, 1}, "\7\7").error(),
            "f: layer 'c': A.mask is I8, a mask is U8; record the trace again");
  EXPECT_EQ(Draft().tensor("c/A", "F16", {1, 1, 2, 3}, "abcdefghijkl").error(),
            "f: layer 'c': A is F16, values are F32 or BF16; record the trace again");
}

TEST(TraceReader, RefusesAZeroShareWithoutATensor) {
  EXPECT_EQ(
      Draft().layer("sparsity", {{"A", 0.5}, {"G", 0}, {"W", 0}}).error(),
      "f: layer 'c': A has neither mask nor values, but 'sparsity' says 0.5 of it is zero; the tensor was "
      "lost; record the trace again");
  EXPECT_EQ(Draft().layer("sparsity", {{"A", 0.0}}).error(), "no error");
  EXPECT_EQ(Draft().layer("sparsity", {{"A", 1.5}}).error(),
            "f: layer 'c': sparsity of A is not a number from 0 to 1; correct the layer's description or "
            "record the "
            "trace again");
}

TEST(TraceReader, TensorsOfNoLayer) {
  EXPECT_EQ(Draft().tensor("notes", "U8", {1}, "x").tensor("optimizer/state", "U8", {1}, "x").error(),
            "no error");
  EXPECT_EQ(Draft().tensor("c/A.maks", "U8", {1}, "x").error(),
            "f: tensor 'c/A.maks' belongs to no layer; did you mean 'c/A.mask'?");
  EXPECT_EQ(Draft().tensor("C/A.mask", "U8", {1}, "x").error(),
            "f: tensor 'C/A.mask' belongs to no layer; did you mean 'c/A.mask'?");
  EXPECT_EQ(Draft().tensor("another.layer/G", "U8", {1}, "x").error(),
            "f: tensor 'another.layer/G' belongs to no layer; list its layer in the metadata or leave the "
            "tensor out");
}

TEST(TraceReader, RefusesForeignOrIncompleteMetadata) {
  const auto with = [](const char* key, const char* value) {
    Draft draft;
    draft.metadata[key] = value;
    return draft.error();
  };
  EXPECT_EQ(with("format", "pt"),
            "f: 'format' is 'pt', this program reads 'training-trace'; record the trace again");
  EXPECT_EQ(with("version", "4"),
            "f: 'version' is '4', this program reads '1' to '3'; record the trace again");
  EXPECT_EQ(with("progress", "1.5"),
            "f: 'progress' of the metadata is '1.5', not a number from 0 to 1; correct it or leave it out");
  EXPECT_EQ(with("progress", "nan"),
            "f: 'progress' of the metadata is 'nan', not a number from 0 to 1; correct it or leave it out");
  EXPECT_EQ(with("batch", "0"),
            "f: 'batch' of the metadata is '0', not a number from 1 to 16777216; correct it or leave it out");
  EXPECT_EQ(
      with("batch", "64 "),
      "f: 'batch' of the metadata is '64 ', not a number from 1 to 16777216; correct it or leave it out");
  for (const char* key : {"format", "version", "model"}) {
    Draft draft;
    draft.metadata.erase(key);
    EXPECT_EQ(draft.error(), "f: the metadata has no '" + std::string(key) +
                                 "'; is this a training trace? docs/trace-format.md says what one needs");
  }
  EXPECT_EQ(
      error_of([] { Trace::parse("f", safetensors_file("{}", "")); }),
      "f: the metadata has no 'format'; is this a training trace? docs/trace-format.md says what one needs");
}

TEST(TraceReader, RefusesListsOfLayersThatAreNone) {
  const auto list = [](const char* text) {
    Draft draft;
    draft.metadata["layers"] = text;
    return draft.error();
  };
  EXPECT_EQ(list("[]"), "f: the trace has no layers; record the trace again");
  EXPECT_EQ(list(""),
            "f: 'layers' of __metadata__ is not JSON from byte 1 on; copy or record the file again");
  EXPECT_EQ(
      list("{}"),
      "f: 'layers' of __metadata__ is not a list; correct the layer's description or record the trace again");
  EXPECT_EQ(
      list("[1]"),
      "f: entry 0 of 'layers' is not an object; correct the layer's description or record the trace again");
  EXPECT_EQ(
      list("[{}]"),
      "f: entry 0 of 'layers' has no 'name'; correct the layer's description or record the trace again");
  EXPECT_EQ(list(R"([{"name":"c","name":"d"}])"),
            "f: 'layers' of __metadata__ has the key 'name' twice; copy or record the file again");
  Draft twice;
  twice.layers.push_back(twice.layers[0]);
  EXPECT_EQ(twice.error(),
            "f: two layers are called 'c'; correct the layer's description or record the trace again");
}

TEST(TraceReader, RefusesLayersThatCannotBe) {
  const std::string remedy = "; correct the layer's description or record the trace again";
  EXPECT_EQ(Draft().layer("type", "conv3d").error(),
            "f: layer 'c': unknown type 'conv3d'; did you mean 'conv2d'? known: conv2d, linear, matmul");
  EXPECT_EQ(Draft().layer("kernel", 3).error(), "f: layer 'c': 'kernel' is not a list of two" + remedy);
  EXPECT_EQ(Draft().layer("kernel", {3, "3"}).error(), "f: layer 'c': 'kernel' is not an integer" + remedy);
  EXPECT_EQ(Draft().layer("groups", 0).error(), "f: layer 'c': groups is 0, outside 1..16777216" + remedy);
  EXPECT_EQ(Draft().layer("groups", 2).error(),
            "f: layer 'c': groups 2 does not divide in_channels 3 and out_channels 2" + remedy);
  EXPECT_EQ(Draft().layer("stride", {0, 1}).error(),
            "f: layer 'c': stride[0] is 0, outside 1..16777216" + remedy);
  EXPECT_EQ(Draft().layer("padding", {-1, 1}).error(),
            "f: layer 'c': padding[0] is -1, outside 0..16777216" + remedy);
  EXPECT_EQ(Draft().layer("batch", 18446744073709551615ULL).error(),
            "f: layer 'c': 'batch' is too large" + remedy);
  EXPECT_EQ(Draft().layer("batch", 1LL << 40).error(),
            "f: layer 'c': batch is 1099511627776, outside 1..16777216" + remedy);
  EXPECT_EQ(
      Draft().layer("output_hw", {1, 3}).error(),
      "f: layer 'c': output_hw is 1x3, but input, kernel, stride, padding and dilation give 1x2" + remedy);
  EXPECT_EQ(Draft().layer("in_channels", 1 << 24).layer("batch", 1 << 24).error(),
            "f: layer 'c': the product of the layer's sizes overflows 63 bits" + remedy);
  // 2^40 MACs, but 2^80 pairs of a weight and an input position.
  Draft square;
  for (const char* key : {"input_hw", "kernel"}) square.layer(key, {1 << 20, 1 << 20});
  for (const char* key : {"output_hw", "stride", "dilation"}) square.layer(key, {1, 1});
  for (const char* key : {"in_channels", "out_channels", "batch"}) square.layer(key, 1);
  EXPECT_EQ(square.layer("padding", {0, 0}).error(),
            "f: layer 'c': the product of the layer's sizes overflows 63 bits" + remedy);

  Draft misspelt;
  misspelt.layers[0].erase("stride");
  EXPECT_EQ(misspelt.error(), "f: layer 'c': 'stride' is missing" + remedy);
  misspelt.layer("strides", {2, 2});
  EXPECT_EQ(misspelt.error(), "f: layer 'c': unknown key 'strides'; did you mean 'stride'?");
  EXPECT_EQ(Draft().layer("comment", "anything").error(), "no error");
}

TEST(TraceReader, LinearLayersAndTheirSteps) {
  Draft draft;
  draft.layers = json::array({{{"name", "l"},
                               {"type", "linear"},
                               {"in_features", 9},
                               {"out_features", 2},
                               {"batch", 6},
                               {"steps", 3}}});
  const Trace trace = draft.open();
  EXPECT_EQ(trace.layers()[0].shape, LayerShape::linear(6, 9, 2));
  EXPECT_EQ(trace.batch(), 2);  // samples, not rows
  draft.metadata["batch"] = "64";
  EXPECT_EQ(draft.open().batch_scale(draft.open().layers()[0]), 32);
  draft.layer("steps", 4);
  EXPECT_EQ(draft.error(),
            "f: layer 'l': its 6 rows are not a whole number of samples of 4 steps; correct the layer's "
            "description "
            "or record the trace again");
  draft.layers[0].erase("steps");
  EXPECT_EQ(draft.open().layers()[0].steps, 1);
  draft.layer("step", 3);
  EXPECT_EQ(draft.error(), "f: layer 'l': unknown key 'step'; did you mean 'steps'?");
}

TEST(TraceReader, ConvolutionsWithSeveralImagesOfASample) {
  Draft draft;
  draft.metadata["batch"] = "8";
  draft.layer("batch", 6);
  EXPECT_EQ(draft.open().batch_scale(draft.open().layers()[0]), 8.0 / 6);
  draft.layer("steps", 3);
  EXPECT_EQ(draft.open().batch_scale(draft.open().layers()[0]), 4);
  draft.layer("steps", 4);
  EXPECT_EQ(draft.error(),
            "f: layer 'c': its 6 images are not a whole number of samples of 4 steps; correct the layer's "
            "description or record the trace again");
}

// Layers without tensors share one row of ones: a small file cannot claim much memory.
TEST(TraceReader, ManyWideLayersCostLittle) {
  Draft draft;
  const json wide = {
      {"name", ""}, {"type", "linear"}, {"in_features", 1 << 24}, {"out_features", 1 << 15}, {"batch", 1}};
  draft.layers = json::array();
  for (int i = 0; i < 500; ++i) {
    draft.layers.push_back(wide);
    draft.layers.back()["name"] = std::to_string(i);
  }
  const Trace trace = draft.open();
  EXPECT_EQ(trace.layers()[0].a.mask.data, trace.layers()[499].a.mask.data);
}

TEST(TraceReader, MissingFilesGetTheNearestName) {
  const TemporaryFolder folder;
  folder.write("alexnet.safetensors", "");
  const std::string where = (folder / "alexnt.safetensors").string();
  EXPECT_EQ(error_of([&] { Trace::open(where); }),
            where + ": there is no such file; did you mean 'alexnet.safetensors'?");
  const std::string other = (folder / "zzz").string();
  EXPECT_EQ(error_of([&] { Trace::open(other); }), other + ": there is no such file; check the path");
  const std::string empty = (folder / "alexnet.safetensors").string();
  EXPECT_EQ(error_of([&] { Trace::open(empty); }),
            empty + ": the file is empty; copy or record the file again");
}

}  // namespace
}  // namespace lacuna
