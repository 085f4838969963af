// Layers of ONNX models, and files that are none.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "network/layer_file.hpp"
#include "network/testing/onnx_writer.hpp"

namespace lacuna::network {
namespace {

namespace onnx = testing;

LayerList read(const std::string& file) {
  return parse_onnx_layers({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, "m.onnx", {});
}
LayerList graph(const std::string& text) { return read(onnx::model(text)); }

std::string onnx_error(const std::string& file) {
  try {
    read(file);
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

// Convolutions, pooling, and a classifier behind x.view(x.size(0), -1), as exporters write it.
std::string small_network() {
  using namespace onnx;
  return input("x", {-1, 3, 32, 32}) + weight("w1", {16, 3, 5, 5}) + weight("w2", {16, 1, 3, 3}) +
         weight("w3", {10, 1024}) + integers("zero", {0}) + integers("rest", {-1}) +
         node("Conv", {"x", "w1"}, "c1", ints("pads", {2, 2, 2, 2}) + ints("strides", {2, 2})) +
         node("Relu", {"c1"}, "r1") +
         node("Conv", {"r1", "w2"}, "c2", word("auto_pad", "SAME_UPPER") + integer("group", 16)) +
         node("MaxPool", {"c2"}, "p", ints("kernel_shape", {2, 2}) + ints("strides", {2, 2})) +
         node("Shape", {"p"}, "s") + node("Gather", {"s", "zero"}, "n") +
         node("Concat", {"n", "rest"}, "to", integer("axis", 0)) + node("Reshape", {"p", "to"}, "flat") +
         node("Gemm", {"flat", "w3"}, "y", integer("transB", 1));
}

TEST(OnnxLayers, FollowShapesThroughANetwork) {
  const LayerList list = graph(small_network());
  EXPECT_EQ(list.name, "net");
  ASSERT_EQ(list.layers.size(), 3u);
  EXPECT_EQ(list.layers[0].name, "c1_node");
  EXPECT_EQ(list.layers[0].shape, LayerShape::conv2d(1, 3, 16, {32, 32}, {5, 5}, {2, 2}, {2, 2}));
  EXPECT_EQ(list.layers[1].shape,
            LayerShape::conv2d(1, 16, 16, {16, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 16));
  EXPECT_EQ(list.layers[2].shape, LayerShape::linear(1, 1024, 10));
}

TEST(OnnxLayers, UnevenPaddingEnlargesTheImage) {
  using namespace onnx;
  // TensorFlow's SAME at stride 2: one more row and column at the end.
  const LayerList list =
      graph(input("x", {4, 3, 224, 224}) + weight("w", {8, 3, 3, 3}) +
            node("Conv", {"x", "w"}, "y", word("auto_pad", "SAME_UPPER") + ints("strides", {2, 2})));
  EXPECT_EQ(list.layers[0].shape, LayerShape::conv2d(4, 3, 8, {225, 225}, {3, 3}, {2, 2}));
  EXPECT_EQ(list.layers[0].shape.output, (Size2{112, 112}));
}

TEST(OnnxLayers, AttentionIsProductsOfActivations) {
  using namespace onnx;
  const LayerList list = graph(
      input("x", {2, 64, 96}) + weight("wq", {96, 96}) + integers("heads", {2, 64, 4, 24}) +
      node("MatMul", {"x", "wq"}, "q") + node("Reshape", {"q", "heads"}, "qh") +
      node("Transpose", {"qh"}, "qt", ints("perm", {0, 2, 1, 3})) +
      node("Transpose", {"qh"}, "kt", ints("perm", {0, 2, 3, 1})) + node("MatMul", {"qt", "kt"}, "scores") +
      node("Softmax", {"scores"}, "p") + node("Einsum", {"p", "qt"}, "o"));
  ASSERT_EQ(list.layers.size(), 2u);
  EXPECT_EQ(list.layers[0].shape, LayerShape::linear(128, 96, 96));
  EXPECT_EQ(list.layers[0].steps, 64);
  EXPECT_EQ(list.layers[1].shape, LayerShape::matmul(8, 64, 24, 64));
  EXPECT_EQ(list.layers[1].steps, 4);
  ASSERT_EQ(list.left_out.size(), 1u);
  EXPECT_EQ(list.left_out[0].type, "Einsum");
}

// Names of nodes need not differ; ours do, whatever other nodes are called.
TEST(OnnxLayers, NamesAreMadeUnique) {
  using namespace onnx;
  std::string nodes = input("x", {1, 3, 8, 8}) + weight("w", {8, 3, 3, 3});
  for (const char* name : {"a_2", "a", "a", "b", "a"}) nodes += node("Conv", {"x", "w"}, "y", bytes(3, name));
  const LayerList list = graph(nodes);
  std::set<std::string> names;
  for (const auto& layer : list.layers) names.insert(layer.name);
  EXPECT_EQ(names.size(), 5u);
}

// Each node adds 16 axes to the one before: their sizes would take gigabytes.
TEST(OnnxLayers, ShapesDoNotGrowWithoutEnd) {
  using namespace onnx;
  std::vector<std::int64_t> first(16);
  std::iota(first.begin(), first.end(), 0);
  std::string nodes = input("x", {1, 3, 8, 8}) + weight("w", {8, 3, 3, 3}) + integers("axes", first) +
                      node("Conv", {"x", "w"}, "y0");
  constexpr int kNodes = 20000;
  for (int i = 0; i < kNodes; ++i)
    nodes += node("Unsqueeze", {fmt::format("y{}", i), "axes"}, fmt::format("y{}", i + 1));
  EXPECT_EQ(graph(nodes).layers.size(), 1u);
  const std::string last = fmt::format("y{}", kNodes);
  EXPECT_NE(
      onnx_error(model(nodes + node("MatMul", {last, last}, "z"))).find("does not follow from the model"),
      std::string::npos);
}

TEST(OnnxLayers, RefuseWhatCannotBe) {
  using namespace onnx;
  const std::string conv = node("Conv", {"x", "w"}, "y");
  EXPECT_TRUE(onnx_error("").starts_with("m.onnx: it does not contain the graph"));
  EXPECT_TRUE(onnx_error("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").starts_with("m.onnx: byte 10: "));
  EXPECT_TRUE(onnx_error(model(small_network()).substr(0, 60)).starts_with("m.onnx: byte "));
  EXPECT_TRUE(onnx_error(model(node("Relu", {"x"}, "y"))).starts_with("m.onnx: no node of the graph"));
  EXPECT_TRUE(onnx_error(model(conv)).starts_with("m.onnx: node 'y_node': the shape of its input 'x'"));
  EXPECT_TRUE(onnx_error(model(input("x", {1, 3, -1, 8}) + weight("w", {8, 3, 3, 3}) + conv))
                  .starts_with("m.onnx: node 'y_node': the sizes of its image"));
  EXPECT_TRUE(onnx_error(model(input("x", {1, 3, 2, 2}) + weight("w", {8, 3, 3, 3}) + conv))
                  .starts_with("m.onnx: node 'y_node': output_hw[0] is 0"));
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const Sizes& sizes : {Sizes{1, 3, huge, huge}, Sizes{huge, 3, 8, 8}, Sizes{1, huge, 8, 8}})
    EXPECT_FALSE(onnx_error(model(input("x", sizes) + weight("w", {8, 3, 3, 3}) + conv)).empty());
  EXPECT_FALSE(onnx_error(model(input("x", {1, 3, 8, 8}) + weight("w", {huge, huge, 3, 3}) + conv)).empty());
  EXPECT_FALSE(onnx_error(model(input("x", {1, 3, 8, 8}) + weight("w", {8, 3, 3, 3}) +
                                node("Conv", {"x", "w"}, "y", ints("strides", {0, huge}))))
                   .empty());
  EXPECT_TRUE(
      onnx_error(model(input("x", {4, huge}) + weight("w", {huge, 5}) + node("MatMul", {"x", "w"}, "y")))
          .starts_with("m.onnx: node 'y_node': factors of"));
  EXPECT_TRUE(
      onnx_error(model(input("x", Sizes(17, 1)) + conv)).starts_with("m.onnx: a tensor has more than 16"));
  EXPECT_TRUE(
      onnx_error(model(input("x", {1, 3, 8, 8}) + weight("w", {8, 3, 3, 3}) + node("Conv", {"x"}, "y")))
          .find("it has no second input") != std::string::npos);
}

}  // namespace
}  // namespace lacuna::network
