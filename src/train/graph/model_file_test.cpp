#include "train/graph/model_file.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace lacuna::train {
namespace {

// Parameters and multiply-accumulates of the published networks, a 224x224 image, 1000 classes.
TEST(ModelFile, BuiltInNetworksHaveThePublishedSizes) {
  struct Known {
    const char* name;
    std::int64_t parameters;
    std::int64_t macs;
  };
  for (const Known& known :
       {Known{"alexnet", 61'100'840, 714'188'480}, Known{"vgg16", 138'357'544, 15'470'264'320},
        Known{"resnet18", 11'689'512, 1'814'073'344}, Known{"resnet34", 21'797'672, 3'663'761'408},
        Known{"resnet50", 25'557'032, 4'089'184'256}, Known{"densenet121", 7'978'856, 2'834'161'664},
        Known{"squeezenet", 1'235'496, 349'151'936}}) {
    const Graph graph = open_model(known.name, {});
    EXPECT_EQ(graph.parameters(), known.parameters) << known.name;
    EXPECT_EQ(graph.macs(), known.macs) << known.name;
    EXPECT_EQ(graph.classes(), 1000) << known.name;
  }
}

// The networks of sparse training [ANT]: sizes for CIFAR-10, and names and order of their layers.
TEST(ModelFile, NetworksForSmallImages) {
  struct Known {
    const char* name;
    std::int64_t parameters;
    std::int64_t macs;
    std::size_t layers;
    std::vector<const char*> some;  // in this order
  };
  // WRN-16-8 has 11.0 million parameters in its paper, 10,961,370 by its definition.
  for (const Known& known :
       {Known{"wrn-16-8",
              10'961'370,
              1'548'145'664,
              17,
              {"conv1", "blocks.0.conv1", "blocks.0.conv2", "blocks.0.short", "blocks.1.conv1",
               "blocks.5.conv2", "fc"}},
        Known{"resnet18-cifar",
              11'173'962,
              555'422'720,
              21,
              {"conv1", "layers.2.conv1", "layers.2.conv2", "layers.2.short.0", "layers.7.conv2", "fc"}},
        Known{"vgg16-cifar",
              33'642'442,
              332'111'872,
              16,
              {"features.0", "features.3", "features.7", "features.40", "classifier.0", "classifier.3",
               "classifier.6"}},
        Known{"densenet121-cifar",
              6'956'298,
              888'350'720,
              121,
              {"conv1", "blocks.0.conv1", "blocks.5.conv2", "blocks.6.conv", "blocks.60.conv2", "fc"}}}) {
    const Graph graph = open_model(known.name, {});
    EXPECT_EQ(graph.input, (SampleShape{3, 32, 32})) << known.name;
    EXPECT_EQ(graph.parameters(), known.parameters) << known.name;
    EXPECT_EQ(graph.macs(), known.macs) << known.name;
    std::vector<std::string> names;
    for (const Node& node : graph.nodes)
      if (node.kind == NodeKind::kConv || node.kind == NodeKind::kLinear) names.push_back(node.name);
    EXPECT_EQ(names.size(), known.layers) << known.name;
    auto at = names.begin();
    for (const char* name : known.some) {
      at = std::find(at, names.end(), name);
      EXPECT_NE(at, names.end()) << known.name << " " << name;
    }
  }
}

TEST(ModelFile, EveryBuiltInModelTakesSizeAndClasses) {
  for (const ModelSummary& model : built_in_models()) {
    const Graph graph = open_model(model.name, {{"size", "64"}, {"classes", "7"}, {"channels", "2"}});
    EXPECT_EQ(graph.classes(), 7) << model.name;
    EXPECT_EQ(graph.input, (SampleShape{2, 64, 64})) << model.name;
    EXPECT_FALSE(model.about.empty()) << model.name;
  }
}

std::string message(const std::string& layers, const ModelSettings& settings = {}) {
  return error_of([&] { parse_model("model: m\nlayers:\n" + layers, "m.yaml", settings); });
}

TEST(ModelFile, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(
      message("  - linear: {out: 10}\n", {{"clases", "3"}}),
      "m.yaml: the model has no parameter 'clases'; did you mean 'classes'? known: channels, classes, size");
  EXPECT_NE(message("  - conf: {out: 10}\n").find("m.yaml:3: unknown layer 'conf'; did you mean 'conv'?"),
            std::string::npos);
  EXPECT_NE(message("  - conv: {out: 8, kernal: 3}\n").find("did you mean 'kernel'?"), std::string::npos);
  EXPECT_NE(message("  - conv: {out: 8}\n").find("m.yaml:3: 'kernel' is missing"), std::string::npos);
  EXPECT_NE(message("  - conv: {out: 8, kernel: 40}\n").find("larger than its input of 32x32"),
            std::string::npos);
  EXPECT_NE(message("  - conv: {out: 8, kernel: 3, groups: 2}\n").find("2 groups do not divide 3 inputs"),
            std::string::npos);
  EXPECT_NE(message("  - relu\n").find("the last layer gives 3 x 32 x 32"), std::string::npos);
  EXPECT_NE(message("  - linear: {out: 9}\n").find("gives 9 values, classes is 10"), std::string::npos);
  EXPECT_NE(message("  - linear: {out: $clases}\n").find("'$clases' is not known here"), std::string::npos);
  EXPECT_NE(message("  - linear: {name: a, out: 5}\n  - linear: {name: a, out: 10}\n")
                .find("two layers are called 'a'"),
            std::string::npos);
  EXPECT_NE(message("  - residual: {body: [conv: {out: 8, kernel: 1}]}\n").find("the body gives 8x32x32"),
            std::string::npos);
  EXPECT_NE(message("  - residual: {body: [], first: last}\n").find("first is 'last'; give body or shortcut"),
            std::string::npos);
  EXPECT_NE(message("  - concat: [[], [max_pool]]\n").find("this branch gives 16x16"), std::string::npos);
  EXPECT_NE(message("  - choose: {by: x, a: []}\n").find("there is no choice 'x'"), std::string::npos);
  EXPECT_NE(message("  - dropout: {rate: 2}\n").find("rate is '2'"), std::string::npos);
  EXPECT_NE(message("  - [1, 2]\n").find("this is not a layer"), std::string::npos);
  // A checkpoint keeps the momentum of layer a under this name.
  EXPECT_NE(message("  - linear: {name: momentum/a, out: 10}\n").find("cannot begin with 'momentum/'"),
            std::string::npos);
  EXPECT_NE(message("  - conv: 3\n").find("has no map of options"), std::string::npos);
  EXPECT_NE(message("").find("no list 'layers'"), std::string::npos);
  EXPECT_NE(message("  - linear: {out: 10, out: 10}\n").find("m.yaml"), std::string::npos);
}

TEST(ModelFile, HostileFilesEnd) {
  const std::string repeats =
      "  - repeat: {times: 1000, layers: [repeat: {times: 1000, layers: [repeat: {times: 1000, "
      "layers: []}]}]}\n  - linear: {out: 10}\n";
  EXPECT_NE(message(repeats).find("too many layers"), std::string::npos);
  EXPECT_NE(error_of([] {
              parse_model("model: m\nblocks: {b: {layers: [b]}}\nlayers: [b]\n", "m.yaml", {});
            }).find("does a block use itself?"),
            std::string::npos);
  EXPECT_NE(message("  - linear: {out: 1000000}\n  - linear: {out: 1000000}\n").find("too large"),
            std::string::npos);
}

// Names become part of checkpoints and traces, whose headers are UTF-8: better said before the training.
TEST(ModelFile, TextIsUtf8) {
  EXPECT_EQ(message("  - linear: {name: \"\xff\", out: 10}\n"),
            "m.yaml: the file is not UTF-8 text; save it as UTF-8");
  EXPECT_EQ(message("  - linear: {out: 10}\n", {{"size", "\xc3"}}),
            "m.yaml: the value of 'size' is not UTF-8 text; write it in UTF-8");
  EXPECT_EQ(message("  - linear: {name: \"\xc3\xa4\", out: 10}\n"), "no error");
}

TEST(ModelFile, PoolsMayRoundUp) {
  const Graph up = parse_model(
      "model: m\nlayers: [max_pool: {kernel: 3, stride: 2, ceil: yes}, linear: {out: 10}]", "m", {});
  const Graph down =
      parse_model("model: m\nlayers: [max_pool: {kernel: 3, stride: 2}, linear: {out: 10}]", "m", {});
  EXPECT_EQ(up.nodes[1].out.h, 16);
  EXPECT_EQ(down.nodes[1].out.h, 15);
}

}  // namespace
}  // namespace lacuna::train
