// Lists of layers in YAML and CSV, and topologies of SCALE-Sim.
#include "network/layer_file.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace lacuna::network {
namespace {

const ZeroTexts kZeros;

template <typename Read>
std::string error_of(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

std::string yaml_error(const std::string& text) {
  return error_of([&] { parse_yaml_layers(text, "f.yaml", kZeros); });
}
std::string csv_error(const std::string& text) {
  return error_of([&] { parse_csv_layers(text, "f.csv", kZeros); });
}

TEST(LayerFile, YamlHasMapsAndWords) {
  const LayerList list = parse_yaml_layers(
      "name: net\n"
      "layers:\n"
      "  - {name: c1, in: 3, out: 8, kernel: 3, input: [32, 16], padding: 1, stride: 2, A: 0.25}\n"
      "  - {name: dw, c: 8, k: 8, kernel: [3, 3], input: 16x8, groups: 8, count: 2}\n"
      "  - linear name=fc in=64 out=10 batch=4 W=channel:0.9\n",
      "f.yaml", kZeros);
  EXPECT_EQ(list.name, "net");
  ASSERT_EQ(list.layers.size(), 4u);
  EXPECT_EQ(list.layers[0].shape, LayerShape::conv2d(1, 3, 8, {32, 16}, {3, 3}, {2, 2}, {1, 1}));
  EXPECT_EQ(list.layers[0].a.share, 0.25);
  EXPECT_EQ(list.layers[0].w.pattern, ZeroPattern::kDense);
  EXPECT_EQ(list.layers[1].shape, LayerShape::conv2d(1, 8, 8, {16, 8}, {3, 3}, {1, 1}, {0, 0}, {1, 1}, 8));
  EXPECT_EQ(list.layers[2].name, "dw_2");
  EXPECT_EQ(list.layers[3].shape, LayerShape::linear(4, 64, 10));
  EXPECT_EQ(list.layers[3].w.pattern, ZeroPattern::kByChannel);
}

TEST(LayerFile, YamlErrorsNameThePlace) {
  EXPECT_TRUE(yaml_error("").starts_with("f.yaml: it is empty; "));
  EXPECT_TRUE(yaml_error("layers: 3\n").starts_with("f.yaml:1: 'layers' is not a list; "));
  EXPECT_TRUE(yaml_error("layers: []\n").starts_with("f.yaml: there is no layer in 'layers'; "));
  EXPECT_TRUE(yaml_error("layer: [a]\n").starts_with("f.yaml:1: unknown key 'layer'; "));
  EXPECT_EQ(yaml_error("layers:\n  - {in: 3, out: 4, kernle: 3, input: 8}\n"),
            "f.yaml:2: unknown key 'kernle' of conv2d; did you mean 'kernel'? known: name, in, out, kernel, "
            "input, stride, padding, dilation, groups, batch, A, W, G");
  EXPECT_TRUE(yaml_error("layers:\n  - {in: 3, c: 3, out: 4}\n").starts_with("f.yaml:2: 'c' is there twice"));
  EXPECT_TRUE(
      yaml_error("layers:\n  - {in: 3, out: 4, input: [1, 2, 3]}\n").starts_with("f.yaml:2: the value of"));
  EXPECT_TRUE(yaml_error("layers:\n  - {type: gru, in: 3}\n").starts_with("f.yaml:2: unknown type 'gru'; "));
  EXPECT_TRUE(yaml_error("layers:\n  - {in: 3, out: 4, kernel: 9, input: 8}\n").starts_with("f.yaml:2: "));
  EXPECT_TRUE(yaml_error("layers:\n  - {type: linear, in: 3, out: 4, count: 70000}\n")
                  .starts_with("f.yaml:2: '70000' is not a number of layers; "));
  EXPECT_TRUE(yaml_error("layers:\n  - {type: linear, in: 3, out: 4, count: 65536}\n  - linear in=1 out=1\n")
                  .starts_with("f.yaml:3: the list has more than 65536 layers; "));
}

TEST(LayerFile, CsvHasAColumnForEachKey) {
  const LayerList list = parse_csv_layers(
      "# name = net\nname,type,in,out,kernel,input,padding,batch,G\n"
      "c1,conv2d,3,8,3,32x16,1,2,0.75\nfc,linear,64,10,,,,4,\n",
      "f.csv", kZeros);
  EXPECT_EQ(list.name, "net");
  ASSERT_EQ(list.layers.size(), 2u);
  EXPECT_EQ(list.layers[0].shape, LayerShape::conv2d(2, 3, 8, {32, 16}, {3, 3}, {1, 1}, {1, 1}));
  EXPECT_EQ(list.layers[0].g.share, 0.75);
  EXPECT_EQ(list.layers[1].shape, LayerShape::linear(4, 64, 10));
  EXPECT_TRUE(csv_error("name,out\na,3\n").starts_with("f.csv: its first line names no column 'in'; "));
  EXPECT_TRUE(csv_error("name,in,in\na,3,4\n").starts_with("f.csv: the column 'in' is there twice; "));
  EXPECT_TRUE(csv_error("name,in,out\n").starts_with("f.csv: it has no layer"));
  EXPECT_TRUE(csv_error("name,in,out,input\na,3,x,8\n").starts_with("f.csv:2: 'x' is not a number"));
  EXPECT_TRUE(csv_error("name,in,out,input\na,3\n").starts_with("f.csv: line 2: 2 cells"));
}

TEST(LayerFile, ReadsTopologiesOfScaleSim) {
  const LayerList list = parse_csv_layers(
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\r\n"
      "Conv1,\t224, 224,\t3, 5,\t3,\t32,\t2,\r\n"
      "DP1, 112, 112, 3, 3, 32, 1, 1,,\r\n\r\n",
      "mobilenet.csv", kZeros);
  EXPECT_EQ(list.name, "mobilenet");
  ASSERT_EQ(list.layers.size(), 2u);
  EXPECT_EQ(list.layers[0].name, "Conv1");
  EXPECT_EQ(list.layers[0].shape, LayerShape::conv2d(1, 3, 32, {224, 224}, {3, 5}, {2, 2}));
  EXPECT_EQ(list.layers[1].shape,
            LayerShape::conv2d(1, 32, 32, {112, 112}, {3, 3}, {1, 1}, {0, 0}, {1, 1}, 32));
  const LayerList products = parse_csv_layers("Layer,M,N,K,\nFC,128,768,64,\n", "gemm.csv", kZeros);
  EXPECT_EQ(products.layers[0].shape, LayerShape::linear(128, 64, 768));
  const std::string header =
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n";
  EXPECT_TRUE(
      csv_error("Layer, IFMAP Height, Channels,\na,1,2,\n").starts_with("f.csv: it starts like a topology"));
  EXPECT_TRUE(csv_error(header + "a,1,2,\n").starts_with("f.csv: line 2: "));
  EXPECT_TRUE(csv_error(header + "DPa,8,8,3,3,-4,1,1,\n").starts_with("f.csv:2: '-4' channels"));
  EXPECT_TRUE(csv_error(header + "a,8,8,3,3,-4,1,1,\n").starts_with("f.csv:2: '-4' is not a number"));
}

TEST(LayerFile, EveryBuiltInListIsRead) {
  for (const std::string& name : layer_list_names()) {
    const LayerList list = read_layers(name, kZeros);
    EXPECT_EQ(list.name, name);
    EXPECT_GE(list.layers.size(), 5u) << name;
  }
  const LayerList list = read_layers("mobilenetv2", kZeros);
  std::int64_t macs = 0;
  for (const SyntheticLayer& layer : list.layers) macs += layer.shape.macs();
  EXPECT_EQ(list.layers.size(), 53u);
  EXPECT_EQ(macs, 300774272);  // torchvision's mobilenet_v2 at 224 x 224
  EXPECT_TRUE(error_of([] {
                read_layers("mobilenet", kZeros);
              }).starts_with("--layers 'mobilenet': there is no such"));
}

}  // namespace
}  // namespace lacuna::network
