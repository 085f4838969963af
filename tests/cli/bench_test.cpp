// `lacuna bench`: what it writes and what it says of bad lists of layers. Speed is not tested here.
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/io/output_file.hpp"
#include "cli/json_schema.hpp"
#include "cli/run_program.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using testing::ProgramResult;
using testing::read_text;
using testing::run_lacuna;
using testing::run_shell;
using testing::TemporaryFolder;

class BenchTest : public ::testing::Test {
 protected:
  std::string shapes(const std::string& layer) {
    write_file(folder_.file("net.yaml"), "name: net\npaper_training: 1.5\nlayers:\n" + layer);
    return folder_.file("net.yaml");
  }
  ProgramResult bench(const std::string& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"bench", command_,   "--shapes", file,        "--batch",
                                      "1",     "--rounds", "1",        "--seconds", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return run_lacuna(words);
  }
  TemporaryFolder folder_;
  std::string command_ = "layers";
};

const std::string kTwoLayers =
    "  - {name: first, c: 3, k: 16, input: [8, 8], kernel: [3, 3], initial: true}\n"
    "  - {name: second, c: 16, k: 32, input: [8, 8], kernel: [3, 3], padding: [1, 1], count: 2}\n";

TEST_F(BenchTest, WritesTheDocumentedJson) {
  const std::string out = folder_.file("out.json");
  const std::string csv = folder_.file("out.csv");
  const ProgramResult result = bench(shapes(kTwoLayers), {"--zeros", "0,90", "--json", out, "--csv", csv});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(read_text(out));
  EXPECT_EQ(document["schema"], 1);
  EXPECT_TRUE(document["machine"]["cpu"].is_string());
  ASSERT_EQ(document["cases"].size(), 10U);  // 2 + 3 operations, two shares of zeros
  for (const json& entry : document["cases"]) {
    for (const char* text : {"layer", "op", "impl"}) EXPECT_TRUE(entry[text].is_string());
    for (const char* number : {"zeros", "threads", "x_direct", "x_auto"})
      EXPECT_TRUE(entry[number].is_number());
    EXPECT_GT(entry["x_direct"], 0);
    EXPECT_NE(entry["layer"].get<std::string>() + entry["op"].get<std::string>(), "firstinput_grad");
  }
  ASSERT_EQ(document["networks"].size(), 2U);
  EXPECT_EQ(document["networks"][0]["name"], "net");
  EXPECT_EQ(document["networks"][0]["paper"], 1.5);
  EXPECT_GT(document["networks"][1]["x_direct"], 0);
  const std::string text = read_text(csv);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 11);
}

TEST_F(BenchTest, TheAuthorsAlgorithmIsTimedBesideOurs) {
  const std::string layers = kTwoLayers + "  - {name: seven, c: 16, k: 16, input: [9, 9], kernel: [7, 7]}\n";
  const ProgramResult json_run =
      bench(shapes(layers), {"--zeros", "50", "--impl", "sparsetrain", "--no-auto", "--json", "-"});
  if (json_run.err.find("needs a CPU with AVX-512") != std::string::npos) GTEST_SKIP() << json_run.err;
  ASSERT_EQ(json_run.exit_code, 0) << json_run.err;
  const json document = json::parse(json_run.out);
  ASSERT_EQ(document["cases"].size(), 3U);  // not of the initial layer, nor of the one it has no kernel for
  for (const json& entry : document["cases"]) {
    EXPECT_EQ(entry["layer"], "second");
    EXPECT_EQ(entry["used"], "sparse");
    EXPECT_GT(entry["sparsetrain"]["x_direct"], 0);
  }
  EXPECT_GT(document["networks"][0]["sparsetrain_x_direct"], 0);
  const ProgramResult table = bench(shapes(layers), {"--zeros", "50", "--impl", "sparsetrain", "--no-auto"});
  EXPECT_NE(table.out.find("sparsetrain"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("or they are initial: net first, net seven\n"), std::string::npos) << table.out;
  expect_error(run_shell("LACUNA_ISA=avx2 \"$LACUNA\" bench layers --shapes vgg16 --impl sparsetrain"),
               "--impl sparsetrain: it needs a CPU with AVX-512; use --impl sparse");
}

// A kernel that cannot run a layer leaves it out and says so.
TEST_F(BenchTest, EveryImplementationCanBeNamed) {
  const ProgramResult reference =
      bench(shapes(kTwoLayers), {"--zeros", "50", "--impl", "reference", "--json", "-"});
  ASSERT_EQ(reference.exit_code, 0) << reference.err;
  const json cases = json::parse(reference.out)["cases"];
  ASSERT_EQ(cases.size(), 5U);
  for (const json& entry : cases) EXPECT_EQ(entry["used"], "reference");
  const ProgramResult gemm = bench(shapes(kTwoLayers), {"--zeros", "50", "--impl", "gemm"});
  EXPECT_EQ(gemm.exit_code, 0) << gemm.err;
  const ProgramResult dense1x1 = bench(shapes(kTwoLayers), {"--zeros", "50", "--impl", "dense1x1"});
  expect_error(dense1x1, "--impl dense1x1: none of the layers is one that it can do");
  EXPECT_EQ(bench(shapes(kTwoLayers), {"--impl", "fastest"}).exit_code, 2);
}

TEST_F(BenchTest, JsonGoesToStandardOutput) {
  const ProgramResult result = bench(shapes(kTwoLayers), {"--zeros", "50", "--op", "forward", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(json::parse(result.out)["complete"]);
}

TEST_F(BenchTest, ASignalKeepsWhatWasMeasured) {
  const std::string file =
      shapes("  - {name: a, c: 64, k: 64, input: [56, 56], kernel: [3, 3], padding: [1, 1]}\n");
  const std::string out = folder_.file("out.json");
  const std::string command = "\"$LACUNA\" bench layers --shapes '" + file +
                              "' --batch 4 --seconds 3600 --zeros 50 --json '" + out + "' & pid=$!; sleep ";
  ProgramResult result;
  // A signal that comes before the first round is over finds nothing to keep.
  for (const char* seconds : {"0.4", "2", "10"}) {
    result = run_shell(command + seconds + "; kill -INT $pid; wait $pid");
    ASSERT_EQ(result.exit_code, 130) << result.err;
    if (std::filesystem::exists(out)) break;
  }
  const json document = json::parse(read_text(out));
  EXPECT_FALSE(document["complete"]);
  EXPECT_EQ(document["cases"].size(), 1U);  // of three operations
  EXPECT_EQ(document["networks"].size(), 0U);
  EXPECT_NE(result.err.find("stopped after 1 of 3 measurements"), std::string::npos) << result.err;
}

TEST_F(BenchTest, SkipsZeroWeightsWhereAsked) {
  const std::string out = folder_.file("out.json");
  const ProgramResult result =
      bench(shapes(kTwoLayers), {"--zeros", "90", "--zeros-in", "weights", "--no-auto", "--json", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(read_text(out));
  ASSERT_EQ(document["cases"].size(), 5U);
  for (const json& entry : document["cases"]) {
    EXPECT_EQ(entry["checked"], "W");
    EXPECT_EQ(entry["used"], "sparse");
    EXPECT_NEAR(entry["zeros"].get<double>(), 0.9, 0.06);
  }
}

TEST_F(BenchTest, TimesChannelsLastBesideBlocked) {
  const std::string csv = folder_.file("out.csv");
  const ProgramResult result =
      bench(shapes(kTwoLayers),
            {"--zeros", "60", "--layout", "nhwc", "--beside-blocked", "--layer", "second", "--csv", csv});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(read_text(csv));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.ends_with(",x_best,x_blocked")) << line;
  while (std::getline(lines, line)) EXPECT_GT(std::stod(line.substr(line.rfind(',') + 1)), 0) << line;
  expect_error(bench(shapes(kTwoLayers), {"--beside-blocked"}), "blocked already");
}

TEST_F(BenchTest, ComparesWithEveryBaseline) {
  const std::string out = folder_.file("out.json");
  const std::string csv = folder_.file("out.csv");
  const ProgramResult result =
      bench(shapes(kTwoLayers), {"--zeros", "0,95", "--baseline", "direct,winograd,gemm,best", "--layer",
                                 "second", "--json", out, "--csv", csv});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* title : {"winograd", "gemm", "best", "faster from"})
    EXPECT_NE(result.out.find(title), std::string::npos) << title;
  const json document = json::parse(read_text(out));
  for (const json& entry : document["cases"]) EXPECT_LE(entry["x_best"], entry["x_direct"]);
  std::istringstream lines(read_text(csv));
  std::string heading;
  std::getline(lines, heading);
  EXPECT_TRUE(heading.ends_with(",winograd_seconds,x_winograd,gemm_seconds,x_gemm,x_best")) << heading;
  for (const json& entry : document["cases"]) {
    std::string line;
    std::getline(lines, line);
    const auto wanted = [&](const char* name) {
      const json& one = entry["baselines"];
      return one.contains(name) ? fmt::format("{:.9f},{:.4f}", one[name]["seconds"].get<double>(),
                                              one[name]["x"].get<double>())
                                : std::string(",");
    };
    EXPECT_TRUE(line.ends_with(
        fmt::format(",{},{},{:.4f}", wanted("winograd"), wanted("gemm"), entry["x_best"].get<double>())))
        << line;
  }
  expect_error(bench(shapes(kTwoLayers), {"--baseline", "fft"}), "unknown baseline 'fft'");
}

TEST_F(BenchTest, AutoRunsWinogradUnlessExact) {
  const std::string layer =
      shapes("  - {name: one, c: 64, k: 64, input: [16, 16], kernel: [3, 3], padding: [1, 1]}\n");
  const auto used = [&](const std::vector<std::string>& more) {
    const std::string out = folder_.file("out.json");
    std::vector<std::string> words = {
        "bench",  "layers", "--shapes", layer, "--batch",   "8", "--zeros",   "0",      "--op", "forward",
        "--impl", "auto",   "--rounds", "1",   "--seconds", "0", "--no-auto", "--json", out};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = run_lacuna(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const json document = json::parse(read_text(out));
    EXPECT_EQ(document["exact"], !more.empty());
    return std::pair<std::string, std::string>(document["machine"]["isa"], document["cases"][0]["used"]);
  };
  EXPECT_FALSE(used({"--exact"}).second.starts_with("winograd"));
  const auto [isa, kernel] = used({});
  if (isa == "avx512") {
    EXPECT_TRUE(kernel.starts_with("winograd")) << kernel;  // ours or oneDNN's
  }
}

TEST_F(BenchTest, RunsDepthwiseAndOddChannels) {
  const std::string out = folder_.file("out.json");
  const ProgramResult result = bench(
      shapes("  - {name: dw, c: 24, k: 24, input: [6, 6], kernel: [3, 3], padding: [1, 1], groups: 24}\n"
             "  - {name: odd, c: 10, k: 15, input: [6, 6], kernel: [3, 3], groups: 5}\n"),
      {"--zeros", "50", "--no-auto", "--json", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(read_text(out));
  for (const json& entry : document["cases"]) EXPECT_EQ(entry["used"], "direct");
}

TEST_F(BenchTest, TracesBringTheirOwnZeros) {
  const std::string out = folder_.file("out.json");
  const std::string trace = LACUNA_SOURCE_DIR "/data/alexnet_p100.safetensors.zst";
  const ProgramResult result =
      run_lacuna({"bench", "layers", "--trace", trace, "--layer", "features.10", "--batch", "1", "--impl",
                  "sparse", "--rounds", "1", "--seconds", "0", "--json", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json cases = json::parse(read_text(out))["cases"];
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_NEAR(cases[0]["zeros"], 0.79, 0.1);  // A, of the first sample
  EXPECT_NEAR(cases[1]["zeros"], 0.97, 0.1);  // G
  EXPECT_EQ(cases[2]["checked"], "G");
}

// The name of a trace is that of its file, which may be any bytes.
TEST_F(BenchTest, NamesOfFilesDoNotBreakTheOutput) {
  const std::string trace = folder_.file("a\"\n\xff.safetensors.zst");
  const std::string out = folder_.file("out.json");
  const std::string csv = folder_.file("out.csv");
  std::filesystem::copy_file(LACUNA_SOURCE_DIR "/data/alexnet_p100.safetensors.zst", trace);
  const ProgramResult result =
      run_lacuna({"bench", "layers", "--trace", trace, "--layer", "features.10", "--op", "forward", "--batch",
                  "1", "--rounds", "1", "--seconds", "0", "--json", out, "--csv", csv});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(read_text(out))["cases"].size(), 1U);
  EXPECT_NE(read_text(csv).find("\n\"a\"\"\n\xff\",features.10,"), std::string::npos);
  EXPECT_NE(result.out.find("a\"?"), std::string::npos) << result.out;
}

// Four epochs of a network of two convolutions, one of which has zeros in its gradients too.
class BenchTraining : public BenchTest {
 protected:
  const std::string layers_ =
      kTwoLayers.substr(0, kTwoLayers.find(", count")) +
      ", count: 2, zeros_a: [x, y], zeros_g: [y, z]}\n"
      "  - {name: third, c: 32, k: 16, input: [8, 8], kernel: [1, 1], zeros_a: [z]}\n";
  const std::string table_ = "layer,1,2,3,4\nx,0.1,0.2,0.3,0.4\ny,0.5,0.6,0.7,0.8\nz,0.9,0.92,0.94,0.9\n";
  ProgramResult run(const std::string& table, const std::vector<std::string>& more = {}) {
    write_file(folder_.file("t.csv"), table);
    std::vector<std::string> words = {folder_.file("t.csv"), "--no-auto"};
    words.insert(words.end(), more.begin(), more.end());
    command_ = "training";
    return bench(shapes(layers_), words);
  }
};

TEST_F(BenchTraining, GivesTheSpeedupOfATraining) {
  const ProgramResult result = run(table_, {"--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  ASSERT_EQ(document["trainings"].size(), 1U);
  const json& training = document["trainings"][0];
  EXPECT_EQ(training["network"], "net");
  EXPECT_EQ(training["epochs"], 4);
  EXPECT_EQ(training["training"]["paper"], 1.5);
  EXPECT_GT(training["training"]["x_direct"], 0);
  EXPECT_GE(training["training"]["x_direct_where_it_pays"], training["training"]["x_direct"]);
  EXPECT_GE(training["inference"]["x_direct_where_it_pays"], 1);
  EXPECT_EQ(training["training"]["by_epoch"].size(), 4U);
  EXPECT_EQ(training["interpolation"]["points"], 5);  // third's gradients have no zeros
  std::map<std::string, std::vector<double>> measured;
  for (const json& entry : document["cases"])
    measured[entry["layer"].get<std::string>() + " " + entry["op"].get<std::string>() + " " +
             entry["checked"].get<std::string>()]
        .push_back(std::round(100 * entry["zeros"].get<double>()));
  EXPECT_EQ(measured.size(), 6U);
  EXPECT_EQ(measured.count("second weight_grad G"), 1U);  // y and z have more zeros than x and y
  EXPECT_EQ(measured["third input_grad G"].size(), 1U);   // dense
  EXPECT_EQ(measured["third forward A"].size(), 3U);      // 90 and 95 %, and the mean
  const std::string schema = read_text(LACUNA_SOURCE_DIR "/docs/schema/bench-v1.schema.json");
  EXPECT_EQ(testing::JsonSchema(json::parse(schema)).violations(document), std::vector<std::string>{});
}

TEST_F(BenchTraining, WhatDoesNotFitIsRefused) {
  expect_error(run("layer,1\nx,0.1\ny,1.5\n"),
               "t.csv:3: column 2: '1.5' is not a share of zeros; give a number from 0 to 1");
  expect_error(
      run("layer,1\nx,0.1\ny,0.5\n"),
      "t.csv: there is no row 'z', the zeros of the gradient of second; add it, or give the list of layers");
  expect_error(run("a,b\n"), "t.csv: its first line is not 'layer,1,2,...'");
  expect_error(run(table_, {"--zeros", "50"}), "give at least two");
  expect_error(run(table_, {"vgg16"}), "--shapes: 1 lists of layers for 2 tables of zeros");
  expect_error(run(table_, {"--scaling"}), "unknown option '--scaling' of 'lacuna bench training'");
  expect_error(run(table_, {"--json", folder_.file("t.csv")}), "this is an input");
  expect_error(run_lacuna({"bench", "training", "vgg61"}), "'vgg61': there is no such table of zeros; ");
  expect_error(run_lacuna({"bench", "training", folder_.file("absent.csv")}), "there is no such file");
  expect_error(run_lacuna({"bench", "training", "vgg16", "--shapes", "squeezenet"}),
               "nothing says which rows of vgg16.csv are its zeros");
}

TEST_F(BenchTest, BadListsOfLayers) {
  expect_error(bench("no_such_network"), "known: alexnet, mobilenetv2, resnet34");
  expect_error(bench(shapes("  - {name: a, c: 3, k: 16, input: [8, 8], kernel: [3, 3], strides: [2, 2]}\n")),
               "unknown key 'strides'");
  expect_error(bench(shapes("  - {name: a, k: 16, input: [8, 8], kernel: [3, 3]}\n")), "'c' is missing");
  expect_error(bench(shapes("  - {name: a, c: x, k: 16, input: [8, 8], kernel: [3, 3]}\n")),
               "'c' cannot be read");
  expect_error(bench(shapes("  - {name: a, c: 3, k: 16, input: [8], kernel: [3, 3]}\n")),
               "'input' has 1 numbers");
  expect_error(bench(shapes("  - {name: a, c: 3, k: 16, input: [8, 8], kernel: [9, 9]}\n")), "layer 1");
  expect_error(bench(shapes("  - {name: a, c: 3, k: 16, input: [8, 8], kernel: [3, 3], stride: [0, 1]}\n")),
               "stride");
  expect_error(bench(shapes(kTwoLayers + "---\nname: other\n")), "it holds more than one document");
  expect_error(bench(shapes("  - {name: a, name: b, c: 3, k: 16, input: [8, 8], kernel: [3, 3]}\n")),
               "the key 'name' is there twice");
  expect_error(bench(shapes("  - {name: a, c: 3, k: 16, input: [8, 99999999999], kernel: [3, 3]}\n")),
               "net.yaml:4: layer 1: 'input' is 99999999999, outside 1..16777216");
  expect_error(bench(shapes(kTwoLayers), {"--op", "backward"}), "unknown operation 'backward'");
  expect_error(bench(shapes(kTwoLayers), {"--zeros", "120"}), "120 is not a percentage");
  expect_error(bench(shapes(kTwoLayers), {"--layer", "nobody"}), "no layer name contains");
}

TEST_F(BenchTest, EveryListThatShipsIsRead) {
  for (const char* name : {"vgg16", "resnet34", "resnet50", "alexnet", "squeezenet"})
    expect_error(run_lacuna({"bench", "layers", "--shapes", name, "--layer", "no such layer"}),
                 "no layer name contains");
}

TEST_F(BenchTest, AloneItPrintsItsHelp) {
  const ProgramResult alone = run_lacuna({"bench"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(alone.out, run_lacuna({"bench", "--help"}).out);
  for (const char* command : {"layers", "training", "torch", "calibrate", "Examples:"})
    EXPECT_NE(alone.out.find(command), std::string::npos) << alone.out;
}

TEST_F(BenchTest, ShowsWhatIsKept) {
  const ProgramResult result = run_lacuna({"bench", "calibrate", "--show"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("kept for "), std::string::npos) << result.out;
}

}  // namespace
}  // namespace lacuna
