#include "bench/inputs/layer_list.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace lacuna::bench {
namespace {

std::string refusal(const std::string& text, std::int64_t batch = 1) {
  try {
    parse_shapes(text, "f", batch);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}
std::string layer(const std::string& keys) { return "name: n\nlayers:\n  - {name: a, " + keys + "}\n"; }

TEST(LayerList, ReadsEveryKey) {
  const Network network = parse_shapes(
      "name: n\npaper_training: 2.5\npaper_inference: 2\nlayers:\n"
      "  - {name: a, c: 4, k: 6, input: [9, 8], kernel: [3, 1], stride: [2, 1], padding: [1, 0], "
      "dilation: [2, 1], groups: 2, count: 3, initial: true, zeros_a: [1, 2, x]}\n",
      "f", 5);
  EXPECT_EQ(network.name, "n");
  EXPECT_EQ(network.paper_training, 2.5);
  EXPECT_EQ(network.paper_inference, 2);
  ASSERT_EQ(network.layers.size(), 1u);
  EXPECT_EQ(network.layers[0].count, 3);
  EXPECT_EQ(network.layers[0].zeros_a, (std::vector<std::string>{"1", "2", "x"}));
  EXPECT_TRUE(network.layers[0].zeros_g.empty());
  EXPECT_EQ(refusal(layer("c: 1, k: 1, input: [1, 1], kernel: [1, 1], count: 2, zeros_g: [a]")),
            "f:3: layer 1: 'zeros_g' has 1 names; give 2: one per layer of this shape");
  EXPECT_TRUE(network.layers[0].initial);
  EXPECT_EQ(network.layers[0].shape, LayerShape::conv2d(5, 4, 6, {9, 8}, {3, 1}, {2, 1}, {1, 0}, {2, 1}, 2));
}

// Sizes are checked one by one before anything is computed from them.
TEST(LayerList, AbsurdSizesAreRefusedWithLineAndKey) {
  const std::string rest = "k: 1, input: [1, 1], kernel: [1, 1]";
  EXPECT_EQ(refusal(layer("c: 9223372036854775807, " + rest)),
            "f:3: layer 1: 'c' is 9223372036854775807, outside 1..16777216; correct it");
  EXPECT_EQ(refusal(layer("c: 1, k: 1, input: [1, 1], kernel: [-9223372036854775808, 2]")),
            "f:3: layer 1: 'kernel' is -9223372036854775808, outside 1..16777216; correct it");
  for (const char* key : {"input", "kernel", "stride", "dilation", "padding"})
    EXPECT_NE(refusal(layer("c: 1, " + rest + ", " + key + ": [1, 4611686018427387904]")), "") << key;
  for (const char* key : {"groups", "count"})
    EXPECT_NE(refusal(layer("c: 1, " + rest + ", " + key + ": 4611686018427387904")), "") << key;
}

TEST(LayerList, WhatThisMachineCannotRunIsRefused) {
  const std::string message = refusal(layer("c: 1048576, k: 1, input: [512, 512], kernel: [1, 1]"), 4);
  EXPECT_TRUE(message.starts_with("f:3: layer 1: 1x1 1048576->1 @512x512 with 4 images takes")) << message;
  EXPECT_NE(refusal(layer("c: 16384, k: 16384, input: [64, 64], kernel: [9, 9], padding: [4, 4]")), "");
}

TEST(LayerList, MessagesAreOneLine) {
  for (const std::string& text :
       {std::string("\"a\\nb\": 1\nname: n\n"),
        layer("\"x\\ny\": 1, c: 1, k: 1, input: [1, 1], kernel: [1, 1]"),
        std::string("name: \"a\\nb\"\nlayers: []\n"), std::string("name: n\nlayers: [3]\n"),
        std::string("name: n\npaper_training: .nan\nlayers: []\n"),
        std::string("name: n\n? [a]\n: 1\nlayers: []\n"), std::string("name: {a: 1}\n"), std::string()}) {
    const std::string message = refusal(text);
    EXPECT_TRUE(message.starts_with("f")) << text;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

// The program needs no files at run time.
TEST(LayerList, NetworksArePartOfTheProgram) {
  const std::vector<std::string> names = shape_names();
  EXPECT_EQ(names, (std::vector<std::string>{"alexnet", "mobilenetv2", "resnet34", "resnet50", "squeezenet",
                                             "vgg16"}));
  for (const std::string& name : names) {
    const Network network = read_shapes(name, 2);
    EXPECT_EQ(network.name, name);
    EXPECT_TRUE(network.layers.front().initial) << name;
  }
  try {
    read_shapes("vgg61", 1);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("--shapes 'vgg61': there is no such list of layers; "))
        << error.what();
  }
}

}  // namespace
}  // namespace lacuna::bench
