// `lacuna bench torch`: with programs that pretend to be Python, and with PyTorch where it is installed.
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/io/output_file.hpp"
#include "cli/json_schema.hpp"
#include "cli/run_program.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using testing::JsonSchema;
using testing::ProgramResult;
using testing::read_text;
using testing::run_lacuna;
using testing::TemporaryFolder;

class BenchTorch : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(model_,
               "model: tiny\nlayers:\n  - conv: {name: a, out: 8, kernel: 3, padding: 1}\n  - relu\n"
               "  - linear: {name: b, out: $classes, init: fan}\n");
  }
  // A program that says `hello`, then answers each request; `special` may treat request number $n otherwise.
  // Requests: 1 build, 2 and 3 warm-up, 4 and 5 the first round, 6 and 7 the second.
  std::string fake(const std::string& hello, const std::string& special = "") {
    std::string program = folder_.file("python");
    write_file(program, fmt::format(R"(#!/bin/bash
{}
n=0
while read -r line; do
  n=$((n + 1))
  {}
  steps=$(sed -n 's/.*"steps":\([0-9]*\).*/\1/p' <<<"$line")
  if [ -z "$steps" ]; then echo '{{"parameters": {}}}'; continue; fi
  numbers=$(printf '0.01,%.0s' $(seq "$steps"))
  echo "{{\"seconds\": [${{numbers%,}}], \"losses\": [${{numbers%,}}]}}"
done
)",
                                    hello, special, parameters_));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return program;
  }
  static std::string hello() { return R"(echo '{"torch": "9.9", "python": "3.99", "blas": "reference"}')"; }
  ProgramResult versus(const std::string& python, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"bench", "torch",   model_, "--size",    size_,    "--batch",
                                      batch_,  "--after", "1",    "--threads", threads_, "--rounds",
                                      "2",     "--steps", "2",    "--json",    out_};
    if (!python.empty()) words.insert(words.end(), {"--python", python});
    words.insert(words.end(), more.begin(), more.end());
    return run_lacuna(words);
  }
  TemporaryFolder folder_;
  const std::string model_ = folder_.file("tiny.yaml");
  const std::string out_ = folder_.file("out.json");
  std::string size_ = "8", batch_ = "4", threads_ = "1";
  static constexpr int kClasses = 10;  // of the built-in images
  int parameters_ = 8 * 3 * 9 + 8 + kClasses * 8 * 8 * 8 + kClasses;
};

TEST_F(BenchTorch, SaysWhatIsWrongWithThePython) {
  expect_error(versus("/no/python"), "/no/python: No such file");
  expect_error(versus(fake(R"(echo '{"no_torch": "No module named torch"}')")),
               "No module named torch); install it (Debian: apt install python3-torch");
  expect_error(versus(fake(R"(echo '{"too_old": "1.8.1"}')")), "PyTorch 1.8.1 is too old");
  expect_error(versus(fake("echo 'a\tbad line' >&2; exit 7")), "ended with code 7, saying 'a\\x09bad line'");
  expect_error(versus(fake("echo hello")), "answered 'hello'");
  expect_error(versus(fake("echo '{}'")), "not the program that was started");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(BenchTorch, SaysWhatIsWrongWithAnAnswer) {
  expect_error(versus(fake(hello(), R"([ $n = 1 ] && echo '{"parameters": 5}' && continue)")),
               "another number of parameters");
  expect_error(versus(fake(hello(), R"([ $n = 2 ] && echo '{"seconds": [1]}' && continue)")),
               "without the times of its steps");
  expect_error(versus(fake(hello(), R"([ $n = 3 ] && echo '{"failed": "RuntimeError: no memory"}')")),
               "PyTorch failed: RuntimeError: no memory");
  expect_error(versus(fake(hello(), "[ $n = 2 ] && kill -9 $$")), "was ended by signal 9 (memory?)");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

// Before the comparison begins, which ends here at once.
TEST_F(BenchTorch, SaysHowLongALongCaseTakes) {
  const auto steps = [&](const char* count) {
    return run_lacuna({"bench", "torch", model_, "--size", size_, "--batch", batch_, "--after", "3",
                       "--threads", "1", "--rounds", "2", "--steps", count, "--python",
                       fake(hello(), R"([ $n = 2 ] && echo '{"failed": "enough"}' && continue)")})
        .err;
  };
  EXPECT_NE(
      steps("10000000000").find("and there are 3 before the comparison, 12 to warm up and 40000000000 timed"),
      std::string::npos);
  EXPECT_EQ(steps("2").find("at least"), std::string::npos);
}

TEST_F(BenchTorch, KeepsWholeRoundsWhenPyTorchDies) {
  ProgramResult result = versus(fake(hello(), "[ $n = 6 ] && echo 'Killed' >&2 && exit 3"));
  EXPECT_NE(std::exchange(result.out, "").find("stopped before the end"), std::string::npos);
  expect_error(result, "code 3, saying 'Killed'");
  const json document = json::parse(read_text(out_));
  EXPECT_FALSE(document["complete"]);
  EXPECT_EQ(document["networks"][0]["blocks"]["auto"].size(), 1U);
}

TEST_F(BenchTorch, KeepsWholeRoundsAfterCtrlC) {
  const ProgramResult result = versus(fake(hello(), "[ $n = 6 ] && kill -INT $PPID && read -r line"));
  EXPECT_EQ(result.exit_code, 130) << result.err;
  const json document = json::parse(read_text(out_));
  EXPECT_FALSE(document["complete"]);
  EXPECT_EQ(document["networks"][0]["blocks"]["auto"].size(), 1U);
}

// With a PyTorch that is twice as fast if its threads sleep while they wait.
TEST_F(BenchTorch, TakesTheFasterWayToWait) {
  const std::string python = fake(hello(), R"(case "$*$line" in
    *+OMP_WAIT_POLICY=passive*steps*) steps=$(sed -n 's/.*"steps":\([0-9]*\).*/\1/p' <<<"$line")
      numbers=$(printf '0.005,%.0s' $(seq "$steps"))
      echo "{\"seconds\": [${numbers%,}], \"losses\": [${numbers%,}]}"; continue ;;
  esac)");
  threads_ = "2";
  const auto speed = [&](const std::string& way, const std::string& expected) {
    const ProgramResult result = versus(python, {"--torch-wait", way});
    EXPECT_EQ(result.exit_code, 1) << result.err;  // losses of a fake
    EXPECT_EQ(result.out.find("OMP_WAIT_POLICY=passive for PyTorch") != std::string::npos,
              expected == "passive")
        << result.out;
    const json entry = json::parse(read_text(out_))["networks"][0];
    EXPECT_EQ(entry["torch_wait"], expected);
    return entry["images_per_second"]["torch_channels_last"].get<double>();
  };
  EXPECT_NEAR(speed("default", "default"), 400, 1e-6);  // 4 images in 0.01 s
  EXPECT_NEAR(speed("passive", "passive"), 800, 1e-6);
  EXPECT_NEAR(speed("auto", "passive"), 800, 1e-6);
  threads_ = "1";
  EXPECT_NEAR(speed("auto", "default"), 400, 1e-6);
}

TEST_F(BenchTorch, NoticesAnotherNetwork) {
  const ProgramResult result = versus(fake(hello()), {"--csv", folder_.file("out.csv")});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.err.find("losses differ"), std::string::npos) << result.err;
  for (const char* part : {"do not train the same network", "BLAS: reference", "apt install libopenblas0"})
    EXPECT_NE(result.out.find(part), std::string::npos) << result.out;
  const json entry = json::parse(read_text(out_))["networks"][0];
  EXPECT_FALSE(entry["losses_agree"]);
  EXPECT_NEAR(entry["images_per_second"]["torch_contiguous"].get<double>(), 400, 1e-6);  // 4 in 0.01 s
  const std::string csv = read_text(folder_.file("out.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
}

// With a layer whose fastest kernel is Winograd.
TEST_F(BenchTorch, PrecisionAndExactAreThoseOfAuto) {
  write_file(model_,
             "model: tiny\nlayers:\n  - conv: {name: a, out: 64, kernel: 3, padding: 1}\n"
             "  - conv: {name: b, out: 64, kernel: 3, padding: 1}\n  - average_pool: global\n"
             "  - linear: {name: c, out: $classes}\n");
  parameters_ = 64 * 3 * 9 + 64 + 64 * 64 * 9 + 64 + kClasses * 64 + kClasses;
  size_ = "16";
  batch_ = "8";
  const auto run = [&](const std::vector<std::string>& more) {
    const ProgramResult result = versus(fake(hello()), more);
    EXPECT_EQ(result.exit_code, 1) << result.err;  // whose losses are others
    return result.out;
  };
  EXPECT_NE(run({"--exact"}).find("auto, exact"), std::string::npos);
  const json exact = json::parse(read_text(out_));
  EXPECT_TRUE(exact["exact"]);
  EXPECT_EQ(exact["precision"], "float32");
  EXPECT_EQ(exact["networks"][0]["winograd"], 0);
  EXPECT_EQ(run({}).find("auto, "), std::string::npos);
  const json usual = json::parse(read_text(out_));
  EXPECT_FALSE(usual["exact"]);
  if (usual["machine"]["isa"] == "avx512") {
    EXPECT_GT(usual["networks"][0]["winograd"], 0.1);
  }
  const ProgramResult rounded = versus(fake(hello()), {"--precision", "bfloat16", "--exact"});
  if (rounded.exit_code == 2) return expect_error(rounded, "--precision bfloat16: ");  // no such CPU
  EXPECT_NE(rounded.out.find("bfloat16"), std::string::npos) << rounded.out;
  EXPECT_EQ(json::parse(read_text(out_))["precision"], "bfloat16");
}

// Two programs on one core: each waits for it half of the time.
TEST_F(BenchTorch, NoticesABusyMachine) {
  const std::string core = "core=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')";
  const std::string lacuna = fmt::format(
      "taskset -c $core \"$LACUNA\" bench torch '{}' --size 8 --batch 4 --after 1 --threads 1 "
      "--rounds 2 "
      "--steps 8000 --json '{}' --python '{}'",
      model_, out_, fake(hello()));
  const ProgramResult result = testing::run_shell(fmt::format(
      "{}; taskset -c $core bash -c 'while :; do :; done' & busy=$!; {}; code=$?; kill $busy; exit $code",
      core, lacuna));
  EXPECT_EQ(result.exit_code, 1) << result.err;  // losses of a fake
  EXPECT_GT(json::parse(read_text(out_))["networks"][0]["waited"], 0.05);
  EXPECT_NE(result.out.find("others used the cores meanwhile: in "), std::string::npos) << result.out;
}

TEST_F(BenchTorch, RefusesOptionsOfOtherBenchmarks) {
  expect_error(versus("python", {"--layer", "a"}), "unknown option '--layer' of 'lacuna bench torch'");
  expect_error(versus("python", {"mlp", "--init", "x"}), "those of one network");
}

// Every kind of layer, and pruned weights.
TEST_F(BenchTorch, TrainsTheSameNetworkAsPyTorch) {
  write_file(model_, R"(model: every
blocks:
  unit:
    layers:
      - residual:
          body:
            - conv: {name: c1, out: 16, kernel: 3, padding: 1, groups: 2, bias: no}
            - batch_norm: {name: n1}
            - relu
            - conv: {name: c2, out: 16, kernel: [3, 1], padding: [2, 0], dilation: [2, 1]}
            - scalar_scale: {name: s}
            - scalar_bias: {name: t}
      - relu
layers:
  - conv: {name: first, out: 16, kernel: 3, padding: 1}
  - relu
  - max_pool: {kernel: 3, stride: 2, ceil: yes}
  - unit: {name: u}
  - concat: [[], [conv: {name: side, out: 16, kernel: 1}, relu]]
  - average_pool: {kernel: 3, stride: 2, padding: 1}
  - average_pool: global
  - linear: {name: hidden, out: 24}
  - batch_norm: {name: last_norm}
  - relu
  - dropout: {rate: 0.3}
  - linear: {name: last, out: $classes, init: fan}
)");
  size_ = "16";
  batch_ = "8";
  const ProgramResult result = versus("", {"--prune", "none,sm,ds"});
  if (result.err.find("no Python with PyTorch") != std::string::npos) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(read_text(out_));
  const json schema = json::parse(read_text(LACUNA_SOURCE_DIR "/docs/schema/bench-torch-v1.schema.json"));
  EXPECT_EQ(JsonSchema(schema).violations(document), std::vector<std::string>());
  ASSERT_EQ(document["networks"].size(), 3U);
  for (const json& entry : document["networks"]) {
    EXPECT_LT(entry["loss_difference"], 1e-4);
    EXPECT_GT(entry["x_torch"], 0);
    EXPECT_EQ(entry["blocks"]["auto"].size(), 2U);
  }
  EXPECT_EQ(document["networks"][0]["zeros"]["W"], 0);
  EXPECT_NEAR(document["networks"][1]["zeros"]["W"].get<double>(), 0.9, 0.01);
  EXPECT_NE(result.out.find("they agree"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace lacuna
