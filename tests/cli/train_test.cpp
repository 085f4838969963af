// `lacuna train` from outside: what a run prints and writes, what it starts from, what it records.
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/train_fixture.hpp"

namespace lacuna::testing {
namespace {

TEST_F(TrainCommand, WritesATableALogAndACheckpoint) {
  const ProgramResult run = run_lacuna(tiny("o", {"--steps", "20", "--report-every", "4", "--prune", "ds"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  // Plain text: no colour, no progress bar.
  EXPECT_TRUE(std::ranges::all_of(run.out, [](char c) { return c == '\n' || (c >= ' ' && c < 127); }));
  EXPECT_NE(
      run.out.find("   steps   epoch     loss train acc  test acc  images/s  zeros A  zeros G  zeros W"),
      std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("\n      20    2.50 "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("sparse kernels, 1 thread, batch 8, 20 steps\n"), std::string::npos) << run.out;
  EXPECT_EQ(names("o"), kFiles);
  const auto rows = log("o");
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0][0], "steps");
  Words steps, tests;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    steps.push_back(rows[i][0]);
    tests.push_back(rows[i][5].empty() ? "" : "tested");
  }
  EXPECT_EQ(steps, (Words{"4", "8", "12", "16", "20"}));
  EXPECT_EQ(tests, (Words{"", "tested", "", "tested", "tested"}));  // each epoch and at the end
  const auto config = nlohmann::json::parse(file("o", "config.json"));
  EXPECT_EQ(config["batch"], 8);
  EXPECT_EQ(config["steps"], 20);
  EXPECT_EQ(config["seed"], 1);
  EXPECT_EQ(config["kernels"], "sparse");
  EXPECT_EQ(config["model_settings"]["size"], "8");
}

// A test is due when it is due, not only where a line happens to be.
// A run is resumed without its options, and equals one that never stopped.
TEST_F(TrainCommand, ResumesAsItWasStarted) {
  const Words options = {"--lr",
                         "0.05",
                         "--flip",
                         "--crop",
                         "1",
                         "--schedule",
                         "step",
                         "--seed",
                         "9",
                         "--prune",
                         "sm",
                         "--prune-every",
                         "4",
                         "--set",
                         "classes=10",
                         "--record",
                         "4",
                         "--samples",
                         "1",
                         "--values",
                         "--report-every",
                         "2",
                         "--test-every",
                         "8"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  ASSERT_EQ(run_lacuna(tiny("whole", with(options, {"--steps", "16"}))).exit_code, 0);
  // As after Ctrl-C: the schedule is that of the whole, the state that of half of it.
  ASSERT_EQ(run_lacuna(tiny("half", with(options, {"--steps", "16", "--checkpoint-every", "8"}))).exit_code,
            0);
  const Words more_steps = with(options, {"--steps", "8", "--warmup", "0"});
  ASSERT_EQ(run_lacuna(tiny("longer", more_steps)).exit_code, 0);
  const nlohmann::json before = nlohmann::json::parse(file("longer", "config.json"));
  const ProgramResult rest = run_lacuna({"train", "--resume", folder_.file("longer"), "--steps", "16"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.out.find("resumed at step 8"), std::string::npos) << rest.out;
  nlohmann::json after = nlohmann::json::parse(file("longer", "config.json"));
  EXPECT_EQ(after["steps"], 16);
  after["steps"] = 8;
  EXPECT_EQ(after, before);
  EXPECT_EQ(log("longer").size(), log("whole").size());
  EXPECT_TRUE(fs::exists(folder_.path() / "longer" / "trace_000012.safetensors.zst"));
  // Nothing to do, and nothing changes.
  const std::string saved = file("half", "checkpoint.safetensors"), config = file("half", "config.json");
  const ProgramResult over = run_lacuna({"train", "--resume", folder_.file("half"), "--lr", "0.050"});
  EXPECT_EQ(over.exit_code, 0) << over.err;
  EXPECT_EQ(file("half", "checkpoint.safetensors"), saved);
  EXPECT_EQ(file("half", "config.json"), config);
  expect_refused({"train", "--resume", folder_.file("half"), "--out", "x"},
                 "a run continues in its own folder");
}

// Winograd rounds more coarsely and is left out where results must be bit-reproducible or zeros must stay
// zero.
TEST_F(TrainCommand, ExactIsTheDefaultWhereItMatters) {
  const auto run = [&](const std::string& out, Words more) {
    more.insert(more.end(), {"--steps", "1"});
    Words words = tiny(out, more);
    if (out != "sparse") std::ranges::replace(words, std::string("sparse"), std::string("auto"));
    const ProgramResult result = run_lacuna(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const bool exact = nlohmann::json::parse(file(out, "config.json"))["exact"];
    // As the network has it.
    EXPECT_EQ(result.out.find("\nauto kernels, exact, 1 thread,") != std::string::npos,
              exact && out != "sparse")
        << result.out;
    return exact;
  };
  EXPECT_FALSE(run("plain", {}));
  EXPECT_TRUE(run("asked", {"--exact"}));
  EXPECT_TRUE(run("recorded", {"--record", "1"}));
  EXPECT_FALSE(run("recorded_so", {"--record", "1", "--exact=false"}));
  EXPECT_TRUE(run("sparse", {}));
  // A run is resumed as it began, also one of a version without Winograd.
  const auto resumed = [&](const std::string& out, const Words& more) {
    Words words = {"train", "--resume", folder_.file(out), "--steps", "2"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = run_lacuna(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(file(out, "config.json"))["exact"].get<bool>();
  };
  EXPECT_FALSE(resumed("recorded_so", {}));
  EXPECT_TRUE(resumed("recorded", {}));
  EXPECT_TRUE(resumed("sparse", {"--kernels", "auto"}));
  nlohmann::json old = nlohmann::json::parse(file("plain", "config.json"));
  old.erase("exact");
  std::ofstream(folder_.path() / "plain" / "config.json") << old;
  EXPECT_TRUE(resumed("plain", {}));
}

TEST_F(TrainCommand, TestsAsOftenAsItIsAsked) {
  ASSERT_EQ(run_lacuna(tiny("o", {"--steps", "12", "--report-every", "5", "--test-every", "3"})).exit_code,
            0);
  std::map<std::string, bool> tested;
  for (const Words& row : log("o"))
    if (row[0] != "steps") tested[row[0]] = !row[5].empty();
  EXPECT_EQ(tested, (std::map<std::string, bool>{
                        {"3", true}, {"5", false}, {"6", true}, {"9", true}, {"10", false}, {"12", true}}));
}

TEST_F(TrainCommand, TheFolderHasADefault) {
  const ProgramResult run =
      run_shell("cd '" + folder_.path().string() + "' && \"$LACUNA\" train --model tiny.yaml --size 8 " +
                "--train-size 32 --test-size 8 --threads 1 --kernels dense --steps 2");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(names("lacuna-train"), kFiles);
  EXPECT_NE(run.out.find("checkpoint and log are in lacuna-train\n"), std::string::npos);
}

// Sparse training: a column for the weights, a configuration that a resumed run takes over, traces of what
// was multiplied.
TEST_F(TrainCommand, MultipliesTheLargestValues) {
  const Words options = {"--steps", "6", "--sparsify", "swat", "--density", "0.25", "--record", "4"};
  const ProgramResult whole = run_lacuna(tiny("whole", options));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_NE(whole.out.find("zeros G  zeros W"), std::string::npos) << whole.out;
  const auto config = nlohmann::json::parse(file("whole", "config.json"));
  EXPECT_EQ(config["sparsify"], (nlohmann::json{{"method", "swat"}, {"density", 0.25}}));
  EXPECT_NEAR(std::stod(log("whole").back().back()), 0.75, 0.01);
  Words half = options;
  half[1] = "3";
  ASSERT_EQ(run_lacuna(tiny("half", half)).exit_code, 0);
  expect_refused({"train", "--resume", folder_.file("half"), "--sparsify", "topk"},
                 "was started with 'swat'");
  const ProgramResult resumed = run_lacuna({"train", "--resume", folder_.file("half"), "--steps", "6"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(log("half").back().back(), log("whole").back().back());
  const ProgramResult inspect =
      run_lacuna({"inspect", folder_.file("whole/trace_000004.safetensors.zst"), "--json", "-"});
  ASSERT_EQ(inspect.exit_code, 0) << inspect.err;
  EXPECT_NE(inspect.out.find("\"W\": 0.75"), std::string::npos) << inspect.out;
}

// The other sources of zeros, compared with dense training; a resumed run keeps them.
TEST_F(TrainCommand, SelectsSamplesAndQuantizes) {
  const ProgramResult run = run_lacuna(
      tiny("o", {"--steps", "4", "--selective-backprop", "0.5", "--quantize", "4", "--beside-dense"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("\ntest accuracy after 4 steps: "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(" %, dense training "), std::string::npos) << run.out;
  const auto config = nlohmann::json::parse(file("o", "config.json"));
  EXPECT_EQ(config["selective_backprop"], 0.5);
  EXPECT_EQ(config["quantize"], 4);
  EXPECT_TRUE(config["sparsify"].is_null());
  EXPECT_GE(std::stod(log("o").back()[8]), 0.45);  // of G
  expect_refused({"train", "--resume", folder_.file("o"), "--quantize", "5"}, "was started with '4'");
  EXPECT_EQ(run_lacuna({"train", "--resume", folder_.file("o"), "--steps", "6"}).exit_code, 0);
}

TEST_F(TrainCommand, ListAndHelp) {
  const ProgramResult list = run_lacuna({"train", "--list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.err, "");
  for (const char* model :
       {"alexnet", "densenet121", "densenet121-cifar", "fixup-resnet50", "mlp", "resnet18", "resnet18-cifar",
        "resnet34", "resnet50", "squeezenet", "vgg-small", "vgg16", "vgg16-cifar", "wrn-16-8"})
    EXPECT_NE(list.out.find(std::string("\n") + model + " "), std::string::npos) << model << "\n" << list.out;
  const ProgramResult help = run_lacuna({"train", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* option :
       {"--model", "--data", "--kernels", "--resume", "--record", "--values", "--prune", "--checkpoint-every",
        "--lr", "--seed", "--init", "--sparsify", "--selective-backprop", "--quantize", "--beside-dense"})
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
}

// A batch that does not divide the set, and one as large as it.
TEST_F(TrainCommand, OddBatches) {
  for (const char* batch : {"1", "7", "63", "64"}) {
    Words words = tiny(std::string("o") + batch, {"--steps", "3"});
    *(std::ranges::find(words, "--batch") + 1) = batch;
    const ProgramResult run = run_lacuna(words);
    EXPECT_EQ(run.exit_code, 0) << batch << run.err;
  }
}

// A network of one layer has nothing after the first to compare.
TEST_F(TrainCommand, ComparesKernels) {
  const ProgramResult tiny_run = run_lacuna(tiny("o", {"--steps", "2", "--compare", "2"}));
  EXPECT_EQ(tiny_run.exit_code, 0) << tiny_run.err;
  EXPECT_NE(tiny_run.out.find("dense and sparse kernels on 2 more batches"), std::string::npos)
      << tiny_run.out;
  EXPECT_NE(tiny_run.out.find("; layers after the first: "), std::string::npos) << tiny_run.out;
  EXPECT_EQ(names("o"), (Words{kFiles[0], kFiles[1], "kernels.csv", kFiles[2]}));
  std::ofstream(model_) << "model: one\nlayers: [linear: {out: $classes}]\n";
  const ProgramResult one = run_lacuna(tiny("p", {"--steps", "2", "--compare", "2"}));
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.out.find("nan"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("inf"), std::string::npos) << one.out;
}

TEST_F(TrainCommand, StartsFromParameters) {
  ASSERT_EQ(run_lacuna(tiny("o", {"--steps", "5"})).exit_code, 0);
  const std::string from = folder_.file("o/checkpoint.safetensors");
  const ProgramResult run = run_lacuna(tiny("p", {"--steps", "5", "--init", from}));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(file("p", "checkpoint.safetensors"), file("o", "checkpoint.safetensors"));
  // A start is a start: nothing but the parameters comes with it.
  EXPECT_EQ(log("p")[1][0], log("o")[1][0]);
  Words other = tiny("q", {"--steps", "5", "--init", from});
  std::ofstream(folder_.file("other.yaml")) << "model: other\nlayers: [linear: {name: c, out: 10}]\n";
  other[2] = folder_.file("other.yaml");
  expect_refused(other, "the file belongs to another network");
}

TEST_F(TrainCommand, RecordingChangesNothingAndIsUnderstood) {
  const Words more = {"--steps", "9", "--report-every", "3"};
  ASSERT_EQ(run_lacuna(tiny("quiet", more)).exit_code, 0);
  Words masks = more, values = more;
  masks.insert(masks.end(), {"--record", "4"});
  values.insert(values.end(), {"--record", "8", "--values", "--samples", "100"});
  const ProgramResult recorded = run_lacuna(tiny("masks", masks));
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  EXPECT_NE(recorded.out.find("; 3 traces: lacuna inspect "), std::string::npos) << recorded.out;
  ASSERT_EQ(run_lacuna(tiny("values", values)).exit_code, 0);
  const auto trace = [](int step) { return fmt::format("trace_{:06}.safetensors.zst", step); };
  EXPECT_EQ(names("masks"), (Words{kFiles[0], kFiles[1], kFiles[2], trace(0), trace(4), trace(8)}));
  EXPECT_EQ(names("values"), (Words{kFiles[0], kFiles[1], kFiles[2], trace(0), trace(8)}));
  for (const char* out : {"masks", "values"}) {
    EXPECT_EQ(file(out, "checkpoint.safetensors"), file("quiet", "checkpoint.safetensors")) << out;
    EXPECT_EQ(log(out), log("quiet")) << out;
    const std::string path = folder_.file(std::string(out) + "/" + trace(8));
    const ProgramResult inspected = run_lacuna({"inspect", path, "--json", folder_.file("i.json")});
    EXPECT_EQ(inspected.exit_code, 0) << inspected.err;
    const ProgramResult simulated = run_lacuna({"simulate", path, "--arch", "dense,tensordash,scnn,ant"});
    EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
  }
}

}  // namespace
}  // namespace lacuna::testing
