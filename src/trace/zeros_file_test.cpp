// Zeros by layer from a table, and zeros that cluster as measured.
#include "trace/synthetic/zeros_file.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace lacuna {
namespace {

// Two layers whose channels are dense and sparse by turns.
Trace striped() {
  SyntheticSpec spec;
  spec.name = "striped";
  spec.batch = 8;
  const Clustering channels{.channel = 0.6, .position = 0.05, .neighbour = 0.2, .decay = 0.7};
  for (const char* name : {"one", "two"}) {
    spec.layers.push_back({name, LayerShape::conv2d(2, 64, 32, {24, 24}, {3, 3}, {1, 1}, {1, 1}), 1,
                           ZeroSpec::clustered(0.5, channels), ZeroSpec::uniform(0.2),
                           ZeroSpec::clustered(0.8, channels)});
  }
  return make_synthetic(spec);
}

TEST(Clustering, IsMeasuredAsItWasDrawn) {
  const Trace trace = striped();
  for (const Operand role : {Operand::kA, Operand::kG}) {
    const LayerTensor& tensor = trace.layers()[0].tensor(role);
    EXPECT_NEAR(tensor.zero_share(), role == Operand::kA ? 0.5 : 0.8, 0.1);  // few channels decide it
    const Clustering measured = measure_clustering(tensor.mask, rows_of_image(trace.layers()[0].shape, role));
    EXPECT_NEAR(measured.channel, 0.6, 0.12);
    EXPECT_NEAR(measured.position, 0.05, 0.04);
    EXPECT_NEAR(measured.neighbour, 0.2, 0.06);
    EXPECT_NEAR(measured.decay, 0.7, 0.1);
  }
  const Layer& layer = trace.layers()[0];
  const Clustering none = measure_clustering(layer.w.mask, rows_of_image(layer.shape, Operand::kW));
  EXPECT_NEAR(none.channel + none.position + none.neighbour, 0, 0.02);
}

TEST(ZerosFile, DrawsEachTensorAsItSays) {
  const Trace trace = striped();
  const ZerosTable table =
      ZerosTable::parse("layer,A,W,G\ntwo,0.7,recorded,zero\none,dense,dense,0.25\n", "z.csv");
  const Trace drawn = table.draw(trace, ZerosClustering::kUniform, 3);
  const Layer &one = drawn.layers()[0], &two = drawn.layers()[1];
  EXPECT_EQ(one.name, "one");
  EXPECT_EQ(one.a.zeros(), 0);
  EXPECT_EQ(one.w.zeros(), 0);
  EXPECT_NEAR(one.g.zero_share(), 0.25, 0.01);
  EXPECT_NEAR(two.a.zero_share(), 0.7, 0.01);
  EXPECT_EQ(two.w.nonzeros, trace.layers()[1].w.nonzeros);
  EXPECT_EQ(two.g.nonzeros, 0);
  EXPECT_EQ(drawn.batch(), 8);
  // The trace's clustering at another share, and the same bytes for the same seed.
  const Trace clustered = table.draw(trace, ZerosClustering::kMeasured, 3),
              again = table.draw(trace, ZerosClustering::kMeasured, 3);
  const LayerTensor& a = clustered.layers()[1].a;
  const std::int64_t rows = rows_of_image(two.shape, Operand::kA);
  EXPECT_GT(measure_clustering(a.mask, rows).channel, 0.4);
  EXPECT_LT(measure_clustering(two.a.mask, rows).channel, 0.02);
  EXPECT_EQ(a.nonzeros, again.layers()[1].a.nonzeros);
}

TEST(ZerosFile, WhatIsWrongIsNamedWithItsLine) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      (void)ZerosTable::parse(text, "z.csv").draw(striped(), ZerosClustering::kUniform, 1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const auto expect = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(error_of(text).find(part), std::string::npos) << error_of(text);
  };
  expect("layer,A,G\none,0,0\n", "'layer,A,W,G'");
  expect("layer,A,W,G\none,0.5,1.5,0\ntwo,0,0,0\n", "z.csv:2: column W");
  expect("layer,A,W,G\none,0,0,0\ntwo,0,0,0\none,0,0,0\n", "z.csv:4: layer 'one' is on line 2 already");
  expect("layer,A,W,G\none,0,0,0\ntwo,0,0,0\nthree,0,0,0\n", "z.csv:4");
  expect("layer,A,W,G\none,0,0,0\n", "there is no line for layer 'two'");
  expect("layer,A,W,G\none,0,0\n", "z.csv: line 2: 3 cells");
}

}  // namespace
}  // namespace lacuna
