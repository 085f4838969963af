#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/testing.hpp"
#include "reproduce/grade.hpp"
#include "reproduce/output/reproduce_output.hpp"
#include "reproduce/trace_sources.hpp"
#include "sim/workload/potential.hpp"

namespace lacuna::reproduce {
namespace {

const std::filesystem::path kData = LACUNA_SOURCE_DIR "/data";

TEST(PaperValues, ReadAndCompared) {
  TemporaryFolder folder;
  const std::string file = folder.file("p.yaml");
  write_file(file,
             "paper: P\ncitation: C\nvalues:\n  a: {value: 2, unit: x, figure: F, section: S, reading: R}\n  "
             "b: {at_least: 1.5, unit: x, figure: F, section: S, reading: R}\n  c: {words: little, at_least: "
             "0.9, at_most: 1, unit: x, figure: F, section: S, reading: R}\n  d: {value: 1.01, unit: x, "
             "figure: F, section: S, reading: R}\n  e: {value: 3, circular: ours is theirs, unit: x, figure: "
             "F, section: S, reading: R}\n");
  const PaperTable table = PaperTable::open(file);
  EXPECT_EQ(table.name(), "P");
  EXPECT_DOUBLE_EQ(table.at("a").difference(2.2), 2.2 / 2 - 1);
  EXPECT_EQ(table.at("b").difference(1.6), 0);
  EXPECT_LT(table.at("b").difference(1.4), 0);
  EXPECT_EQ(difference_text(table.at("b"), 1.6), "holds");
  EXPECT_EQ(table.at("c").text(2), "little (0.90 to 1.00)");
  EXPECT_EQ(difference_text(table.at("c"), 0.95), "holds");
  EXPECT_EQ(difference_text(table.at("c"), 1.6), "fails");
  EXPECT_EQ(verdict_on(table.at("a"), 2.09), Verdict::kNear);
  EXPECT_EQ(verdict_on(table.at("a"), 2.2), Verdict::kFar);
  EXPECT_EQ(verdict_on(table.at("a"), 1.2), Verdict::kApart);
  // A gain of 0.01 % is not a gain of 1 %.
  EXPECT_EQ(verdict_on(table.at("d"), 1.0001), Verdict::kApart);
  EXPECT_EQ(verdict_on(table.at("d"), 1.0101), Verdict::kNear);
  EXPECT_EQ(verdict_on(table.at("e"), 3), Verdict::kCircular);
  EXPECT_FALSE(needs_reason(table.at("e"), 5));
  EXPECT_THROW((void)table.at("f"), InputError);
}

TEST(Grade, SaysHowManyNumbersAreOfDrawnMasks) {
  Grade grade;
  grade.add(Verdict::kNear, true);
  grade.add(Verdict::kApart, true);
  grade.add(Verdict::kHolds, true);
  grade.add(Verdict::kNear, false);
  EXPECT_EQ(grade.numbers(), 3);
  EXPECT_EQ(grade.drawn, 2);
  EXPECT_EQ(grade.drawn_near, 1);
  EXPECT_NE(grade.text().find("2 of the 3 and 1 of the 2 are of masks drawn"), std::string::npos)
      << grade.text();
  EXPECT_NE(grade.exit_text().find("exits with 4, since 1 number is more"), std::string::npos);
  grade.add(Verdict::kFails, false);
  EXPECT_NE(grade.exit_text().find("and 1 statement does not hold"), std::string::npos) << grade.exit_text();
}

TEST(PaperValues, WhatIsWrongIsNamedWithItsLine) {
  TemporaryFolder folder;
  const std::string file = folder.file("p.yaml");
  for (const auto& [fields, part] :
       {std::pair{"value: 2, unit: x, figure: F, section: S", "where it is from"},
        std::pair{"unit: x, figure: F, section: S, reading: R", "has none of"},
        std::pair{"words: much, figure: F, section: S, reading: R", "has none of"},
        std::pair{"value: 2, at_most: 3, figure: F, section: S, reading: R", "has both of"},
        std::pair{"value: 2, page: 3, figure: F, section: S, reading: R", "unknown field 'page'"},
        std::pair{"value: two, figure: F, section: S, reading: R", "two"}}) {
    write_file(file, std::string("paper: P\ncitation: C\nvalues:\n  a: {") + fields + "}\n");
    try {
      PaperTable::open(file);
      ADD_FAILURE() << fields;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("p.yaml:4"), std::string::npos) << error.what();
    }
  }
}

TEST(RecordedValues, NamesWhatMoved) {
  RecordedValues before, now;
  before.set("fig1/t/r/a", 1);
  before.set("fig1/t/r/gone", 1);
  before.set("fig2/t/r/a", 5);
  now.set("fig1/t/r/a", 1 + 1e-12);
  EXPECT_EQ(before.compare(now).size(), 1u);  // gone; the last bits do not count
  now.set("fig1/t/r/a", 1.001);
  now.set("fig1/t/r/new", 2);
  std::set<std::string> keys;
  for (const Moved& moved : before.compare(now)) keys.insert(moved.key);
  EXPECT_EQ(keys, (std::set<std::string>{"fig1/t/r/a", "fig1/t/r/gone", "fig1/t/r/new"}));
  // Recording one figure keeps the others, and what is written reads back.
  TemporaryFolder folder;
  write_file(folder.file("r.yaml"), before.replaced_by(now).text());
  const RecordedValues read = RecordedValues::open(folder.file("r.yaml"));
  EXPECT_EQ(read.find("fig2/t/r/a"), 5);
  EXPECT_EQ(read.find("fig1/t/r/a"), 1.001);
  EXPECT_FALSE(read.find("fig1/t/r/gone"));
  EXPECT_TRUE(read.compare(now).empty());
}

TEST(Figures, HaveIdsOfTheirOwnAndKnownTraces) {
  const DataFolder data(kData);
  std::set<std::string> ids;
  for (const Figure& figure : all_figures()) {
    EXPECT_TRUE(ids.insert(figure.id).second) << figure.id;
    EXPECT_NO_THROW(PaperTable::open(data.papers() / (figure.paper + ".yaml"))) << figure.id;
    Runs runs(data);
    for (const RunKey& key :
         wanted_runs(figure, PaperTable::open(data.papers() / (figure.paper + ".yaml")), runs)) {
      if (!recorded_part(key.trace).empty()) {
        EXPECT_GT(data.bytes(recorded_part(key.trace)), 0) << key.text();
      }
    }
  }
  for (const char* id :
       {"fig1", "fig13", "fig14", "fig15", "fig16", "fig17", "fig18", "fig19", "fig20", "table3", "bfloat16",
        "mixed", "gcn", "two-side", "ant", "ant-assumptions", "sparsetrain"}) {
    EXPECT_TRUE(ids.contains(id)) << id;
  }
  EXPECT_THROW(choose_figures({"fig99"}, false), InputError);
  EXPECT_THROW(choose_figures({"sparsetrain"}, false), InputError);
  EXPECT_EQ(choose_figures({}, false).size() + 1, choose_figures({"all"}, true).size());
}

// A recorded value has a reason wherever it is more than 5 % from the paper: checked on figures
// that need no trace, or a small one.
TEST(Figures, LargeDifferencesHaveReasons) {
  const Reproduction reproduction = reproduce_figures(choose_figures({"table3", "gcn"}, false),
                                                      DataFolder(kData), 1, [](double, const auto&) {});
  EXPECT_EQ(unexplained(reproduction), std::vector<std::string>{});
  const RecordedValues recorded = RecordedValues::open(kData / "papers" / "recorded.yaml");
  std::vector<std::string> moved;
  for (const Moved& one : recorded.compare(recordable(reproduction))) moved.push_back(one.key);
  EXPECT_EQ(moved, std::vector<std::string>{});
}

TEST(Sources, RandomLayerHasTheZerosOfItsName) {
  const DataFolder data(kData);
  const Trace trace = open_source("random:0.9:1", data);
  ASSERT_EQ(trace.layers().size(), 2u);
  EXPECT_NEAR(trace.layers()[1].a.zero_share(), 0.9, 0.005);
  EXPECT_EQ(trace.layers()[1].w.zeros(), 0);
  EXPECT_NE(open_source("random:0.9:2", data).layers()[1].a.nonzeros, trace.layers()[1].a.nonzeros);
}

TEST(Sources, MovedNonzerosKeepTheirNumber) {
  const DataFolder data(kData);
  const Trace recorded = data.open("snli_p100"), moved = open_source("moved:snli_p100", data);
  ASSERT_EQ(moved.layers().size(), recorded.layers().size());
  bool differs = false;
  for (std::size_t l = 0; l < recorded.layers().size(); ++l) {
    for (const Operand role : {Operand::kA, Operand::kW, Operand::kG}) {
      const LayerTensor &a = recorded.layers()[l].tensor(role), &b = moved.layers()[l].tensor(role);
      EXPECT_EQ(a.nonzeros, b.nonzeros);
      for (std::int64_t c = 0; c < a.mask.channels; ++c) differs |= a.mask.bit(0, c) != b.mask.bit(0, c);
    }
  }
  EXPECT_TRUE(differs);
}

TEST(Sources, HalvesShareTheNonzerosOfTheWhole) {
  const DataFolder data(kData);
  const Trace whole = data.open("squeezenet_p100"), first = open_source("half:0:squeezenet_p100", data),
              second = open_source("half:1:squeezenet_p100", data);
  for (std::size_t l = 0; l < whole.layers().size(); ++l) {
    const Layer &all = whole.layers()[l], &one = first.layers()[l], &other = second.layers()[l];
    EXPECT_EQ(all.a.nonzeros, one.a.nonzeros + other.a.nonzeros);
    EXPECT_EQ(all.g.nonzeros, one.g.nonzeros + other.g.nonzeros);
    EXPECT_EQ(all.w.nonzeros, one.w.nonzeros);
    EXPECT_EQ(first.batch_scale(one), 2 * whole.batch_scale(all));
  }
}

// Made-up traces keep the activations of the forward product.
TEST(Sources, KeepTheActivationsOfTheForwardProduct) {
  const DataFolder data(kData);
  const std::string name = "wrn16_8_cifar_swat90_p100";
  const Trace whole = data.open(name), half = open_source("half:0:" + name, data),
              moved = open_source("moved:" + name, data);
  for (std::size_t l = 0; l < whole.layers().size(); ++l) {
    const Layer& layer = whole.layers()[l];
    ASSERT_EQ(half.layers()[l].a_forward.has_value(), layer.a_forward.has_value());
    ASSERT_EQ(moved.layers()[l].a_forward.has_value(), layer.a_forward.has_value());
    if (layer.a_forward) {
      EXPECT_EQ(moved.layers()[l].a_forward->nonzeros, layer.a_forward->nonzeros);
    }
  }
}

TEST(Sources, OneByOneConvolutionsByPositionsMultiplyTheSame) {
  const DataFolder data(kData);
  const std::string name = "densenet121_cifar_swat90_p100";
  const Trace whole = data.open(name), matrices = open_source("positions:" + name, data);
  int changed = 0;
  for (std::size_t l = 0; l < whole.layers().size(); ++l) {
    const Layer &a = whole.layers()[l], &b = matrices.layers()[l];
    EXPECT_EQ(a.shape.macs(), b.shape.macs());
    EXPECT_EQ(whole.batch_scale(a), matrices.batch_scale(b));
    if (a.shape == b.shape) continue;
    ++changed;
    EXPECT_EQ(a.shape.taps(), 1);
    for (const Operation op : kOperations) {
      EXPECT_EQ(count_macs(a.as_multiplied(op), op).effectual, count_macs(b.as_multiplied(op), op).effectual)
          << a.name;
    }
  }
  EXPECT_EQ(changed, 61);  // 58 in the blocks and three transitions
}

TEST(Sources, DrawnMasksHaveThePotentialOfThePaper) {
  const DataFolder data(kData);
  for (const auto& [variant, potential] : {std::pair{"paper", 3.0}, {"uniform", 3.0}, {"least", 1.5}}) {
    const Trace drawn = open_source(std::string("drawn:") + variant + ":1:squeezenet_p100", data);
    EXPECT_NEAR(*trace_potential(drawn).per_batch.all.speedup(), potential, 0.05 * potential) << variant;
  }
  const Trace whole = data.open("squeezenet_p100"), own = open_source("drawn:own:1:squeezenet_p100", data);
  // A tensor of few channels may miss its share; the network does not.
  double difference = 0;
  for (std::size_t l = 0; l < whole.layers().size(); ++l)
    difference += own.layers()[l].a.zero_share() - whole.layers()[l].a.zero_share();
  EXPECT_NEAR(difference / static_cast<double>(whole.layers().size()), 0, 0.03);
}

// Sources that are made from made-up ones keep both changes.
TEST(Sources, AreMadeFromOneAnother) {
  const DataFolder data(kData);
  const std::string name = "densenet121_cifar_swat90_p100";
  const Trace whole = data.open(name), half = open_source("positions:half:1:" + name, data),
              moved = open_source("moved:half:1:" + name, data), plain = open_source("half:1:" + name, data);
  bool matrices = false, differs = false;
  for (std::size_t l = 0; l < whole.layers().size(); ++l) {
    const Layer &one = half.layers()[l], &other = plain.layers()[l];
    EXPECT_EQ(one.shape.macs(), other.shape.macs());
    EXPECT_LE(one.shape.macs(), whole.layers()[l].shape.macs());
    matrices |= one.shape.kind != other.shape.kind;
    EXPECT_EQ(moved.layers()[l].a.nonzeros, other.a.nonzeros);
    EXPECT_EQ(moved.batch_scale(moved.layers()[l]), plain.batch_scale(other));
    for (std::int64_t c = 0; c < other.a.mask.channels; ++c)
      differs |= moved.layers()[l].a.mask.bit(0, c) != other.a.mask.bit(0, c);
  }
  EXPECT_TRUE(matrices);
  EXPECT_TRUE(differs);
}

TEST(Sources, NetworksOfInferenceHaveTheirDensities) {
  const DataFolder data(kData);
  const Trace even = open_source("inference:vgg16:published:1", data),
              clustered = open_source("inference:vgg16:clustered:1", data),
              swept = open_source("inference:googlenet:0.4:1", data),
              folded = open_source("inference:alexnet-folded:1:1", data),
              conv1 = open_source("inference:alexnet:1:1", data);
  for (std::size_t l = 0; l < even.layers().size(); ++l) {
    const Layer &one = even.layers()[l], &other = clustered.layers()[l];
    EXPECT_NEAR(one.a.zero_share(), other.a.zero_share(), 0.05) << one.name;
    EXPECT_NEAR(one.w.zero_share(), other.w.zero_share(), 0.05) << one.name;
  }
  EXPECT_EQ(recorded_part("inference:vgg16:clustered:1"), "vgg16_p100");
  EXPECT_NEAR(swept.layers()[2].a.zero_share(), 0.6, 0.01);
  EXPECT_NEAR(swept.layers()[2].w.zero_share(), 0.6, 0.01);
  // The folded layer multiplies what the published one does.
  EXPECT_EQ(folded.layers()[0].shape.output, conv1.layers()[0].shape.output);
  EXPECT_NEAR(
      static_cast<double>(
          count_macs(folded.layers()[0].as_multiplied(Operation::kForward), Operation::kForward).effectual) /
          static_cast<double>(conv1.layers()[0].shape.macs()),
      1, 0.01);
}

TEST(DataFolder, ChecksWhatItReads) {
  TemporaryFolder folder;
  EXPECT_THROW(DataFolder{folder.file("nowhere")}, InputError);
  const DataFolder whole(kData);
  std::filesystem::copy_file(kData / "MANIFEST.csv", folder.file("MANIFEST.csv"));
  std::ifstream in(kData / "gcn_p100.safetensors.zst", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  write_file(folder.file("gcn_p100.safetensors.zst"), bytes);
  const DataFolder copy{std::filesystem::path(folder.file("MANIFEST.csv")).parent_path()};
  EXPECT_NO_THROW((void)copy.open("gcn_p100"));
  bytes[bytes.size() / 2] ^= 1;
  write_file(folder.file("gcn_p100.safetensors.zst"), bytes);
  EXPECT_THROW((void)copy.open("gcn_p100"), InputError);
  EXPECT_THROW((void)copy.open("nothing_p100"), InputError);
}

}  // namespace
}  // namespace lacuna::reproduce
