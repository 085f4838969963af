// `lacuna inspect` and `lacuna synth` as a user runs them.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/io/output_file.hpp"
#include "cli/cli_fixture.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/trace.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using testing::kAlexnet;
using testing::kSqueezenet;
using testing::ProgramResult;
using testing::read_text;
using testing::run_lacuna;
using testing::TemporaryFolder;

void expect_message(const ProgramResult& result, const std::string& message) {
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "lacuna: error: " + message + "\n");
}

TEST(Inspect, TableOfLayersAndTotals) {
  const ProgramResult result = run_lacuna({"inspect", kAlexnet});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(result.out.starts_with("alexnet on imagenette, progress 100 %, accuracy 83.7 %\n"))
      << result.out;
  EXPECT_NE(result.out.find("features.3    5x5 64->192 @27x27 n2       447.9 M    31.1  0.0  95.5"),
            std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("\nbatch of 64"), std::string::npos);
}

TEST(Inspect, JsonAndCsvAgreeWithTheTrace) {
  const TemporaryFolder folder;
  const std::string csv = folder.file("t.csv");
  const ProgramResult result = run_lacuna({"inspect", kAlexnet, kSqueezenet, "--json", "-", "--csv", csv});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  ASSERT_EQ(document["traces"].size(), 2u);
  const Trace trace = Trace::open(kSqueezenet);
  const json& shown = document["traces"][1];
  ASSERT_EQ(shown["layers"].size(), trace.layers().size());
  std::size_t operations = 0;
  double macs = 0;
  for (std::size_t i = 0; i < trace.layers().size(); ++i) {
    const Layer& layer = trace.layers()[i];
    EXPECT_EQ(shown["layers"][i]["name"], layer.name);
    EXPECT_EQ(shown["layers"][i]["macs"], layer.shape.macs());
    EXPECT_EQ(shown["layers"][i]["zeros"]["A"], layer.a.zero_share());
    EXPECT_EQ(shown["layers"][i]["ops"].size(), i == 0 ? 2u : 3u);
    operations += shown["layers"][i]["ops"].size();
    for (const json& op : shown["layers"][i]["ops"]) {
      macs += op["macs"].get<double>();
      EXPECT_LE(op["remaining_macs"], op["macs"]);
      EXPECT_LE(op["effectual_macs"], op["remaining_macs"]);
    }
  }
  EXPECT_EQ(shown["total"]["all"]["macs"].get<double>(), macs);
  EXPECT_EQ(shown["per_batch"]["all"]["macs"].get<double>(), macs * 32);  // 2 of 64 samples everywhere
  const std::string text = read_text(csv);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(1 + operations + 8 * 3 - 1));
}

// A few hundred bytes that describe tensors of 2^40 elements, none of them zero.
TEST(Inspect, TakesNoLongerThanTheFileIsLong) {
  const TemporaryFolder folder;
  const std::string file = folder.file("large.safetensors");
  const std::string full = " A=dense W=dense G=dense";
  const ProgramResult made = run_lacuna(
      {"synth", "--layer", "conv2d name=line in=1 out=1 kernel=16777216x1 input=16777216x1" + full, "--layer",
       "conv2d name=plane in=1024 out=1 kernel=3x3 input=32768x32768" + full, "-o", file});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_LT(std::filesystem::file_size(file), 2000u);
  const ProgramResult shown = run_lacuna({"inspect", file, "--json", "-"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const json plane = json::parse(shown.out)["traces"][0]["layers"][1];
  for (const json& op : plane["ops"]) {
    EXPECT_EQ(op["macs"], 32766.0 * 32766 * 9 * 1024);
    EXPECT_EQ(op["effectual_macs"], op["macs"]);
  }
}

TEST(Inspect, RefusesBadInputInOneLine) {
  const TemporaryFolder folder;
  const std::string missing = folder.file("no.safetensors");
  expect_message(run_lacuna({"inspect", missing}), missing + ": there is no such file; check the path");
  const std::string cut = folder.file("cut.safetensors");
  write_trace(Trace::open(kAlexnet), cut);
  std::filesystem::resize_file(cut, 1000);
  const ProgramResult result = run_lacuna({"inspect", cut});
  EXPECT_NE(result.err.find("bytes, the file has 992 left; copy or record the file again"), std::string::npos)
      << result.err;
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  expect_message(
      run_lacuna({"inspect", kAlexnet, "--scheduled", "sparsest"}),
      "--scheduled: unknown operand 'sparsest'; did you mean 'sparser'? known: sparser, primary, A, W, G");
  expect_message(run_lacuna({"inspect", kAlexnet, "--json", "-", "--csv", "-"}),
                 "--csv -: --json already goes to standard output; give one of them a file");
  const ProgramResult full = run_lacuna({"inspect", kAlexnet, "--json", "/dev/full"});
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_NE(full.err.find("/dev/full: cannot write: No space left on device"), std::string::npos) << full.err;
}

TEST(Synth, WritesWhatWasAskedFor) {
  const TemporaryFolder folder;
  const std::string file = folder.file("t.safetensors.zst");
  const std::string convolution =
      "conv2d name=c in=6 out=4 kernel=3x2 input=9x8 stride=2x1 padding=1 groups=2 batch=2 "
      "A=0.25 W=channel:0.5 G=zero";
  const std::vector<std::string> command{
      "synth", "--layer",   convolution, "--layer", "linear in=300 out=70 batch=12 steps=3 W=dense",
      "--A",   "0.6",       "--batch",   "64",      "--model",
      "made",  "--content", "both",      "--type",  "bf16",
      "-o",    file};
  const ProgramResult result = run_lacuna(command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out + result.err, "");
  const Trace trace = Trace::open(file);
  EXPECT_EQ(trace.info().model, "made");
  EXPECT_EQ(trace.batch(), 64);
  ASSERT_EQ(trace.layers().size(), 2u);
  const Layer& conv = trace.layers()[0];
  EXPECT_EQ(conv.name, "c");
  EXPECT_EQ(conv.shape, LayerShape::conv2d(2, 6, 4, {9, 8}, {3, 2}, {2, 1}, {1, 1}, {1, 1}, 2));
  EXPECT_NEAR(conv.a.zero_share(), 0.25, 0.06);
  EXPECT_EQ(conv.g.nonzeros, 0);
  EXPECT_EQ(conv.a.values.type, DataType::kBfloat16);
  const Layer& linear = trace.layers()[1];
  EXPECT_EQ(linear.name, "layer1");
  EXPECT_EQ(linear.steps, 3);
  EXPECT_NEAR(linear.a.zero_share(), 0.6, 0.05);
  EXPECT_EQ(linear.w.zeros(), 0);

  const std::string before = read_text(file);
  ASSERT_EQ(run_lacuna(command).exit_code, 0);
  EXPECT_EQ(read_text(file), before);  // the same seed, the same bytes
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(Synth, TakesTheLayersOfATrace) {
  const TemporaryFolder folder;
  const std::string file = folder.file("t.safetensors");
  ASSERT_EQ(run_lacuna({"synth", "--like", kAlexnet, "--G", "dense", "-o", file}).exit_code, 0);
  const Trace original = Trace::open(kAlexnet);
  const Trace made = Trace::open(file);
  ASSERT_EQ(made.layers().size(), original.layers().size());
  EXPECT_EQ(made.batch(), 64);
  for (std::size_t i = 0; i < made.layers().size(); ++i) {
    EXPECT_EQ(made.layers()[i].shape, original.layers()[i].shape);
    EXPECT_EQ(made.layers()[i].g.zeros(), 0);
  }
}

TEST(Synth, RefusesWhatCannotBe) {
  const TemporaryFolder folder;
  const std::string file = folder.file("t.safetensors");
  const auto layer = [&](const std::string& text) {
    return run_lacuna({"synth", "--layer", text, "-o", file});
  };
  expect_message(
      layer("conv in=3"),
      "--layer 'conv in=3': unknown type 'conv'; did you mean 'conv2d'? known: conv2d, linear, matmul, "
      "recurrent");
  expect_message(layer("linear in=3 out=4 bacth=2"),
                 "--layer 'linear in=3 out=4 bacth=2': unknown key 'bacth' of linear; did you mean 'batch'? "
                 "known: name, "
                 "in, out, batch, steps, A, W, G");
  expect_message(layer("linear in=3 out=4 in=5"),
                 "--layer 'linear in=3 out=4 in=5': 'in' is there twice; remove one");
  expect_message(
      layer("linear in=3 out=4x"),
      "--layer 'linear in=3 out=4x': '4x' is not a number from 0 to 16777216 for 'out'; write 3, or 3x2 for "
      "height and width");
  expect_message(layer("linear in=3 out=4 A=1.5"),
                 "--layer 'linear in=3 out=4 A=1.5': '1.5' does not say which values are zero; write a share "
                 "from 0 to 1 "
                 "(uniform), channel:SHARE (clustered), dense or zero");
  expect_message(run_lacuna({"synth", "-o", file}),
                 "lacuna synth: give one of --layer, --layers and --like; see 'lacuna synth --help'");
  EXPECT_TRUE(folder.names().empty());
  const ProgramResult full = run_lacuna({"synth", "--layer", "linear in=300 out=400", "-o", "/dev/full"});
  expect_message(
      full,
      "/dev/full: cannot write: No space left on device; free some space or write elsewhere; nothing was "
      "left behind");
}

TEST(Synth, ZerosFileGivesTheZerosOfEachLayer) {
  TemporaryFolder folder;
  const std::string table = folder.file("z.csv"), out = folder.file("z.safetensors");
  std::string text = "layer,A,W,G\n";
  for (const char* layer : {"features.0", "features.3", "features.6", "features.8", "features.10",
                            "classifier.1", "classifier.4", "classifier.6"})
    text += std::string(layer) + ",0.5,dense,recorded\n";
  write_file(table, text);
  ASSERT_EQ(run_lacuna({"synth", "--like", kAlexnet, "--zeros-file", table, "-o", out}).exit_code, 0);
  const ProgramResult inspected = run_lacuna({"inspect", out, "--json", "-"});
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  const json report = json::parse(inspected.out);
  for (const auto& layer : report["traces"][0]["layers"])
    EXPECT_NEAR(layer["zeros"]["A"].get<double>(), 0.5, 0.01) << layer["name"];
  // `simulate` draws the same masks.
  const auto cycles = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "simulate");
    arguments.insert(arguments.end(), {"--json", "-"});
    const ProgramResult result = run_lacuna(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out)["runs"][0]["per_batch"];
  };
  EXPECT_EQ(cycles({out}), cycles({kAlexnet, "--zeros-file", table}));
  EXPECT_NE(cycles({out}), cycles({kAlexnet, "--zeros-file", table, "--clustering", "measured"}));
  expect_message(run_lacuna({"simulate", kAlexnet, "--clustering", "measured"}),
                 "--clustering: it says how the zeros of a table cluster; add --zeros-file");
  expect_message(run_lacuna({"synth", "--layer", "linear in=3 out=4", "--zeros-file", table, "-o", out}),
                 table + ":2: synthetic has no layer 'features.0'; known: layer0");
  write_file(table, "layer,A,W,G\nfeatures.1,0.5,0,0\n");
  const ProgramResult unknown = run_lacuna({"simulate", kAlexnet, "--zeros-file", table});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("z.csv:2"), std::string::npos) << unknown.err;
}

TEST(Synth, NetworksFromListsWithZerosOfARelative) {
  const TemporaryFolder folder;
  const std::string out = folder.file("m.safetensors");
  ProgramResult result =
      run_lacuna({"synth", "--layers", "mobilenetv2", "--zeros-like", kSqueezenet, "-o", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Trace trace = Trace::open(out), relative = Trace::open(kSqueezenet);
  EXPECT_EQ(trace.info().model, "mobilenetv2");
  ASSERT_EQ(trace.layers().size(), 53u);
  EXPECT_NEAR(trace.layers()[0].g.zero_share(), relative.layers()[0].g.zero_share(), 0.05);
  EXPECT_EQ(trace.layers()[0].a.zeros(), 0);
  write_file(folder.file("l.csv"), "name,in,out,kernel,input\na,4,8,3,9\n");
  write_file(folder.file("z.csv"), "layer,A,W,G\na,0.25,dense,zero\n");
  result = run_lacuna(
      {"synth", "--layers", folder.file("l.csv"), "--zeros-file", folder.file("z.csv"), "-o", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Trace::open(out).layers()[0].g.nonzeros, 0);
  expect_message(
      run_lacuna({"synth", "--layers", "mobilenet", "-o", out}),
      "--layers 'mobilenet': there is no such list of layers; did you mean 'mobilenetv2'? known: alexnet, "
      "mobilenetv2, resnet34, resnet50, squeezenet, vgg16; or give a .yaml, .csv or .onnx file");
  expect_message(run_lacuna({"synth", "--layers", "vgg16", "--like", kSqueezenet, "-o", out}),
                 "lacuna synth: give one of --layer, --layers and --like; see 'lacuna synth --help'");
  write_file(folder.file("r.csv"), "layer,A,W,G\na,recorded,dense,zero\n");
  expect_message(run_lacuna({"synth", "--layers", folder.file("l.csv"), "--zeros-file", folder.file("r.csv"),
                             "-o", out}),
                 folder.file("r.csv") + ":2: 'recorded' is of a trace, and " + folder.file("l.csv") +
                     " is none; give a share, or dense or zero");
}

}  // namespace
}  // namespace lacuna
