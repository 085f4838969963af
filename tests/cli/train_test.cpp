// `lacuna train` from outside: what it writes, how it is stopped and goes on, and what it refuses.
#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/mount.h>
#include <unistd.h>

#include "base/random.hpp"
#include "cli/run_program.hpp"

namespace lacuna::testing_support {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class TrainCommand : public testing::Test {
 protected:
  TrainCommand() {
    std::ofstream(model_) << "model: tiny\nlayers:\n"
                             "  - conv: {name: a, out: 8, kernel: 3, stride: 2}\n  - relu\n"
                             "  - conv: {name: b, out: 8, kernel: 3, padding: 1}\n  - batch_norm\n  - relu\n"
                             "  - dropout: {rate: 0.2}\n"
                             "  - linear: {name: c, out: $classes}\n";
  }
  // A run of milliseconds; an epoch has 8 steps.
  Words tiny(const std::string& out, const Words& more = {}) const {
    Words words = {"train",
                   "--model",
                   model_,
                   "--size",
                   "8",
                   "--train-size",
                   "64",
                   "--test-size",
                   "20",
                   "--batch",
                   "8",
                   "--threads",
                   "1",
                   "--kernels",
                   "sparse",
                   "--out",
                   folder_.file(out)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The same for a shell.
  std::string line(const std::string& out, const Words& more = {}) const {
    std::string text = "\"$LACUNA\"";
    for (const std::string& word : tiny(out, more)) text += " '" + word + "'";
    return text;
  }
  std::string file(const std::string& out, const std::string& name) const {
    return read_text(folder_.path() / out / name);
  }
  Words names(const std::string& out) const {
    Words all;
    for (const auto& entry : fs::directory_iterator(folder_.path() / out))
      all.push_back(entry.path().filename().string());
    std::ranges::sort(all);
    return all;
  }
  // log.csv as rows, without the column that is a measurement.
  std::vector<Words> log(const std::string& out) const {
    std::vector<Words> rows;
    std::istringstream text(file(out, "log.csv"));
    for (std::string row; std::getline(text, row);) {
      rows.emplace_back();
      std::istringstream fields(row);
      for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
      EXPECT_EQ(rows.back().size(), 11u) << row;
      if (rows.back().size() == 11) rows.back().erase(rows.back().begin() + 7);
    }
    return rows;
  }
  void expect_refused(const Words& words, const std::string& message) const {
    const ProgramResult result = run_lacuna(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_EQ(result.err.rfind("lacuna: error: ", 0), 0u) << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_.file("tiny.yaml");
};

const Words kFiles = {"checkpoint.safetensors", "config.json", "log.csv"};

// ---------------------------------------------------------------- a run

TEST_F(TrainCommand, WritesATableALogAndACheckpoint) {
  const ProgramResult run = run_lacuna(tiny("o", {"--steps", "20", "--report-every", "4", "--prune", "ds"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  // Plain text: no colour, no progress bar.
  EXPECT_TRUE(std::ranges::all_of(run.out, [](char c) { return c == '\n' || (c >= ' ' && c < 127); }));
  EXPECT_NE(
      run.out.find("   steps   epoch     loss  accuracy   on test  images/s  zeros A  zeros G  zeros W"),
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
  EXPECT_EQ(config["batch"], "8");
  EXPECT_EQ(config["steps"], "20");
  EXPECT_EQ(config["seed"], "1");
  EXPECT_EQ(config["kernels"], "sparse");
  EXPECT_EQ(config["model_settings"]["size"], "8");
}

// A test is due when it is due, not only where a line happens to be.
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

TEST_F(TrainCommand, ListAndHelp) {
  const ProgramResult list = run_lacuna({"train", "--list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.err, "");
  for (const char* model : {"alexnet", "densenet121", "fixup-resnet50", "mlp", "resnet18", "resnet34",
                            "resnet50", "squeezenet", "vgg-small", "vgg16"})
    EXPECT_NE(list.out.find(std::string("\n") + model + " "), std::string::npos) << model << "\n" << list.out;
  const ProgramResult help = run_lacuna({"train", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* option : {"--model", "--data", "--kernels", "--resume", "--record", "--values", "--prune",
                             "--checkpoint-every", "--lr", "--seed", "--init"})
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
  EXPECT_NE(tiny_run.out.find("dense against sparse kernels on 2 more batches"), std::string::npos)
      << tiny_run.out;
  EXPECT_NE(tiny_run.out.find("; layers after the first "), std::string::npos) << tiny_run.out;
  EXPECT_EQ(names("o"), (Words{kFiles[0], kFiles[1], "kernels.csv", kFiles[2]}));
  std::ofstream(model_) << "model: one\nlayers: [linear: {out: $classes}]\n";
  const ProgramResult one = run_lacuna(tiny("p", {"--steps", "2", "--compare", "2"}));
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.out.find("nan"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("inf"), std::string::npos) << one.out;
}

// ---------------------------------------------------------------- what is refused

TEST_F(TrainCommand, WrongOptionsAreOneLineAndLeaveNothing) {
  const auto option = [&](const std::string& name, const std::string& value, const std::string& message) {
    Words words = tiny("o", {"--steps", "2"});
    if (const auto at = std::ranges::find(words, name); at != words.end())
      *(at + 1) = value;
    else
      words.insert(words.end(), {name, value});
    expect_refused(words, message);
  };
  for (const char* value : {"nan", "inf", "0", "-1", "x", ""})
    option("--lr", value, "--lr: give a positive number");
  for (const char* value : {"nan", "1", "-0.1"})
    option("--momentum", value, "--momentum: give a number from 0 to 0.9999");
  for (const char* value : {"nan", "2", "-1"})
    option("--weight-decay", value, "--weight-decay: give a number from 0 to 1");
  for (const char* value : {"nan", "1", "-1"})
    option("--prune-zeros", value, "--prune-zeros: give a number from 0 to 0.999");
  for (const char* value : {"nan", "0", "1e300", "inf"})
    option("--epochs", value, "--epochs: give a number above 0");
  for (const char* name : {"--steps", "--checkpoint-every", "--test-every", "--report-every", "--record",
                           "--samples", "--prune-every", "--train-size", "--test-size", "--batch"})
    for (const char* value : {"0", "-1", "1.5", "1e3", "x", "9999999999999999999", "99999999999999999999999"})
      option(name, value, std::string(name) + ": give a whole number from 1 to ");
  for (const char* value : {"-1", "1.5", "18446744073709551616"})
    option("--seed", value, "--seed: give a whole number");
  option("--warmup", "-1", "--warmup: give a whole number");
  option("--threads", "1025", "--threads: give a whole number from 0 to 1024");
  option("--size", "7", "--size: give a whole number from 8 to 4096");
  option("--crop", "8", "images of 8x8 cannot be cropped with a padding of 8");
  option("--batch", "65", "a batch of 65 images cannot be taken from 64 images; use a batch from 1 to 64");
  option("--kernels", "spars", "did you mean 'sparse'?");
  option("--schedule", "cosin", "did you mean 'cosine'?");
  option("--prune", "smm", "did you mean 'sm'?");
  option("--model", "vgg-smal", "did you mean 'vgg-small'?");
  option("--model", folder_.file("none.yaml"), "none.yaml");
  option("--model", folder_.path().string(), "there is no such model");
  option("--data", "shape", "shape");
  option("--data", "cifar10:/no/such/folder", "/no/such/folder");
  option("--data", "mnist:/no/such/folder", "/no/such/folder");
  option("--data", "folder:/no/such/folder", "/no/such/folder");
  option("--set", "with=3", "the model has no parameter 'with'");
  option("--set", "size", "'size' is not an assignment");
  option("--set", "size=12", "images of 'shapes' are 3x8x8, the network takes 3x12x12");
  option("--set", "classes=11", "'shapes' has 10 classes, the network 11");
  option("--init", folder_.file("none"), "there is no such file");
  option("--init", model_, "is this a safetensors file?");
  option("--out", model_, "the folder cannot be made");
  option("--out", "/proc/no/such", "the folder cannot be made");
  expect_refused(tiny("o", {"--recrd", "3"}), "did you mean '--record'?");
  expect_refused(tiny("o", {"extra"}), "extra");
  expect_refused(tiny("o", {"--resume"}), "there is no checkpoint to go on from");
  EXPECT_EQ(folder_.names(), (Words{"tiny.yaml"}));
}

TEST_F(TrainCommand, NamesThatAreNotUtf8) {
  std::ofstream(folder_.file("\xff.yaml")) << "model: m\nlayers: [linear: {out: 10}]\n";
  std::ofstream(folder_.file("bad.yaml")) << "model: \"\xff\"\nlayers: [linear: {out: 10}]\n";
  Words words = tiny("o", {"--steps", "1"});
  words[2] = folder_.file("bad.yaml");
  expect_refused(words, "the file is not UTF-8 text");
  words[2] = folder_.file("\xff.yaml");
  const ProgramResult run = run_lacuna(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(nlohmann::json::accept(file("o", "config.json")));
}

TEST_F(TrainCommand, ASavedRunIsNotOverwritten) {
  ASSERT_EQ(run_lacuna(tiny("o", {"--steps", "3"})).exit_code, 0);
  const std::string saved = file("o", "checkpoint.safetensors");
  const std::string logged = file("o", "log.csv");
  expect_refused(tiny("o", {"--steps", "4"}), "a run has been saved there; go on with it (--resume)");
  expect_refused(tiny("o", {"--steps", "4", "--resume"}), "its run had steps='3', this one has '4'");
  for (const auto& [name, value, was] : {std::tuple{"--lr", "0.5", "lr="},
                                         {"--seed", "7", "seed="},
                                         {"--prune", "sm", "prune="},
                                         {"--momentum", "0.5", "momentum="},
                                         {"--schedule", "step", "schedule="},
                                         {"--crop", "1", "crop="}})
    expect_refused(tiny("o", {"--steps", "3", "--resume", name, value}), std::string("its run had ") + was);
  EXPECT_EQ(file("o", "checkpoint.safetensors"), saved);
  EXPECT_EQ(file("o", "log.csv"), logged);
  // A run that is over stays over.
  const ProgramResult again = run_lacuna(tiny("o", {"--steps", "3", "--resume"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(file("o", "checkpoint.safetensors"), saved);
  EXPECT_EQ(file("o", "log.csv"), logged);
}

TEST_F(TrainCommand, DamagedCheckpointsAreRefusedAndKept) {
  ASSERT_EQ(run_lacuna(tiny("o", {"--steps", "3"})).exit_code, 0);
  const std::string good = file("o", "checkpoint.safetensors");
  const fs::path path = folder_.path() / "o" / "checkpoint.safetensors";
  const auto with = [&](const std::string& bytes, const std::string& message) {
    std::ofstream(path, std::ios::binary) << bytes;
    expect_refused(tiny("o", {"--steps", "3", "--resume"}), message);
    EXPECT_EQ(file("o", "checkpoint.safetensors"), bytes);
  };
  with("", "the file is empty");
  with(good.substr(0, 100), "the header claims");
  with(good.substr(0, good.size() - 1), "lie outside");
  with(good + "x", "belong to no tensor");
  std::string flipped = good;
  flipped[flipped.size() - 5] ^= 1;
  with(flipped,
       "its checksum does not fit its content; use an earlier checkpoint or start again without --resume");
}

// ---------------------------------------------------------------- lost trainings, full disks

TEST_F(TrainCommand, ALossThatIsNoNumber) {
  for (const char* prune : {"none", "sm", "ds"}) {
    const std::string out = std::string("o") + prune;
    const ProgramResult run = run_lacuna(tiny(out, {"--steps", "9", "--lr", "1e36", "--prune", prune,
                                                    "--prune-every", "1", "--checkpoint-every", "100"}));
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_NE(run.err.find("lacuna: error: training: "), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("the last checkpoint is untouched"), std::string::npos) << run.err;
    EXPECT_FALSE(fs::exists(folder_.path() / out / "checkpoint.safetensors"));
  }
}

// The rate grows until all is lost. What was saved last, after whichever step, is a state one can go on from.
// (Without batch norm, which hides weights of any size until its own sums overflow.)
TEST_F(TrainCommand, WhatWasSavedBeforeAllWasLostIsGood) {
  std::ofstream(model_)
      << "model: tiny\nlayers: [conv: {out: 8, kernel: 3}, relu, conv: {out: 8, kernel: 3}, relu, "
         "linear: {out: $classes}]\n";
  for (const char* rate : {"1e6", "1e9", "1e13", "1e20"}) {
    const std::string out = std::string("o") + rate;
    const ProgramResult lost = run_lacuna(tiny(out, {"--steps", "60", "--lr", rate, "--warmup", "10000",
                                                     "--checkpoint-every", "1", "--schedule", "constant"}));
    EXPECT_EQ(lost.exit_code, 2) << rate;
    EXPECT_NE(lost.err.find("the last checkpoint is untouched"), std::string::npos) << lost.err;
    const std::string saved = folder_.file(out + "/checkpoint.safetensors");
    if (!fs::exists(saved)) continue;  // lost in the first step
    const ProgramResult from =
        run_lacuna(tiny(out + "+", {"--steps", "1", "--lr", "1e-30", "--init", saved}));
    // Its loss is a number; on another batch it may be a large one, which ends a run without success.
    EXPECT_TRUE(from.exit_code == 0 || from.err.find("the loss after step 1 is ") != std::string::npos)
        << rate << ": " << from.err;
    EXPECT_EQ(from.err.find("nan"), std::string::npos) << from.err;
    EXPECT_EQ(from.err.find("inf"), std::string::npos) << from.err;
  }
  EXPECT_TRUE(fs::exists(folder_.file("o1e6/checkpoint.safetensors")));
}

TEST_F(TrainCommand, NoSpaceForTheFirstCheckpoint) {
  // Room for the log, not for a checkpoint.
  const ProgramResult full =
      run_shell("ulimit -f 4; exec " + line("o", {"--steps", "8", "--checkpoint-every", "4"}));
  EXPECT_EQ(full.exit_code, 2) << full.out;
  EXPECT_EQ(std::ranges::count(full.err, '\n'), 1) << full.err;
  EXPECT_NE(full.err.find("checkpoint.safetensors: cannot write: File too large; free some space"),
            std::string::npos)
      << full.err;
  EXPECT_EQ(names("o"), (Words{"config.json", "log.csv"}));
  // Nobody reads what it prints.
  const ProgramResult unread = run_shell(line("p", {"--steps", "4"}) + " > /dev/full");
  EXPECT_EQ(unread.exit_code, 2) << unread.err;
  EXPECT_NE(unread.err.find("No space left on device"), std::string::npos) << unread.err;
}

// A disk that is really full, where we may mount one: the state before stays and is gone on from.
TEST_F(TrainCommand, AFullDisk) {
  fs::create_directory(folder_.path() / "disk");
  if (::mount("none", folder_.file("disk").c_str(), "tmpfs", 0, "size=128k") != 0)
    GTEST_SKIP() << "cannot mount a small disk";
  const Words more = {"--steps", "40", "--checkpoint-every", "5", "--report-every", "5"};
  Words recorded = more;
  recorded.insert(recorded.end(), {"--record", "1", "--values", "--samples", "8"});
  const ProgramResult run = run_lacuna(tiny("disk/o", recorded));
  const Words left = names("disk/o");
  for (const std::string& name : left)
    if (name.starts_with("trace_")) fs::remove(folder_.path() / "disk" / "o" / name);
  const bool saved = fs::exists(folder_.path() / "disk" / "o" / "checkpoint.safetensors");
  const ProgramResult again = saved ? run_lacuna(tiny("disk/o", {"--steps", "40", "--checkpoint-every", "5",
                                                                 "--report-every", "5", "--resume"}))
                                    : ProgramResult();
  const std::string checkpoint = file("disk/o", "checkpoint.safetensors");
  const auto rows = log("disk/o");
  ::umount(folder_.file("disk").c_str());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("No space left on device"), std::string::npos) << run.err;
  EXPECT_TRUE(std::ranges::none_of(
      left, [](const std::string& name) { return name.find("partial") != std::string::npos; }));
  ASSERT_TRUE(saved) << run.err;
  EXPECT_EQ(again.exit_code, 0) << again.err;
  ASSERT_EQ(run_lacuna(tiny("whole", more)).exit_code, 0);
  EXPECT_EQ(checkpoint, file("whole", "checkpoint.safetensors"));
  EXPECT_EQ(rows, log("whole"));
}

TEST_F(TrainCommand, AFolderThatCannotBeWritten) {
  if (fs::is_directory("/proc/self")) {  // where not even root makes files
    Words words = tiny("o", {"--steps", "2"});
    *(std::ranges::find(words, "--out") + 1) = "/proc/self";
    expect_refused(words, "config.json: cannot create: ");
  }
  if (::geteuid() == 0) return;
  fs::create_directory(folder_.path() / "o");
  fs::permissions(folder_.path() / "o", fs::perms::owner_read | fs::perms::owner_exec);
  expect_refused(tiny("o", {"--steps", "2"}), "config.json: cannot create: Permission denied");
  fs::permissions(folder_.path() / "o", fs::perms::owner_all);
}

// ---------------------------------------------------------------- stopped and gone on

// Starts a run in the background, waits until its log has a line, does `then` with its $pid, and ends with
// its exit code.
std::string in_background(const std::string& command, const std::string& log, const std::string& then) {
  return command + " & pid=$!; for i in {1..2000}; do [ -e '" + log + "' ] && [ \"$(wc -l < '" + log +
         "')\" -gt 1 ] && break; sleep 0.005; done; " + then + "; wait $pid";
}

TEST_F(TrainCommand, ASignalSavesAndTheRunGoesOn) {
  // Long enough not to end before the signal, short enough to be run to its end.
  const Words more = {"--steps",      "4000", "--report-every",     "50",
                      "--test-every", "200",  "--checkpoint-every", "100000"};
  Words resume = more;
  resume.push_back("--resume");
  ASSERT_EQ(run_lacuna(tiny("whole", more)).exit_code, 0);
  for (const auto& [signal, code] : {std::pair{"INT", 130}, {"TERM", 143}}) {
    const std::string out = signal;
    const ProgramResult run = run_shell(in_background(line(out, more), folder_.file(out + "/log.csv"),
                                                      std::string("kill -") + signal + " $pid"));
    ASSERT_EQ(run.exit_code, code) << run.out << run.err;
    EXPECT_EQ(run.err, "");
    EXPECT_NE(run.out.find("; the same command with --resume goes on\n"), std::string::npos) << run.out;
    EXPECT_EQ(names(out), kFiles);
    const ProgramResult rest = run_lacuna(tiny(out, resume));
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_NE(rest.out.find(", going on from step "), std::string::npos) << rest.out;
    EXPECT_EQ(file(out, "checkpoint.safetensors"), file("whole", "checkpoint.safetensors"));
    EXPECT_EQ(log(out), log("whole"));
  }
}

// The folder is full when the run goes on: what was saved stays as it is, and with room the run ends as if
// nothing had been.
TEST_F(TrainCommand, NoSpaceKeepsTheLastCheckpoint) {
  const Words more = {"--steps", "2000", "--report-every", "200", "--checkpoint-every", "250"};
  Words resume = more;
  resume.push_back("--resume");
  ASSERT_EQ(run_lacuna(tiny("whole", more)).exit_code, 0);
  ASSERT_EQ(run_shell(in_background(line("o", more), folder_.file("o/log.csv"), "kill -INT $pid")).exit_code,
            130);
  const std::string good = file("o", "checkpoint.safetensors");
  const ProgramResult full = run_shell("ulimit -f 4; exec " + line("o", resume));
  EXPECT_EQ(full.exit_code, 2) << full.out;
  EXPECT_NE(full.err.find("File too large"), std::string::npos) << full.err;
  EXPECT_EQ(file("o", "checkpoint.safetensors"), good);
  EXPECT_EQ(names("o"), kFiles);
  ASSERT_EQ(run_lacuna(tiny("o", resume)).exit_code, 0);
  EXPECT_EQ(file("o", "checkpoint.safetensors"), file("whole", "checkpoint.safetensors"));
  EXPECT_EQ(log("o"), log("whole"));
}

// Ten million images take minutes to test.
TEST_F(TrainCommand, ASignalEndsATest) {
  std::string command = line("o", {"--steps", "100000", "--report-every", "1", "--test-every", "2"});
  const std::string small = "'--test-size' '20'";
  command.replace(command.find(small), small.size(), "'--test-size' '10000000'");
  const ProgramResult run = run_shell(in_background(command, folder_.file("o/log.csv"),
                                                    "sleep 0.1; kill -INT $pid; SECONDS=0; wait $pid; "
                                                    "code=$?; echo after $SECONDS; exit $code"));
  EXPECT_EQ(run.exit_code, 130) << run.err;
  EXPECT_NE(run.out.find("stopped after step 2 of 100000; the same command with --resume goes on\n"),
            std::string::npos)
      << run.out;
  // Within a second, on a machine that has nothing else to do.
  const std::size_t after = run.out.find("after ", run.out.find("goes on"));
  ASSERT_NE(after, std::string::npos) << run.out;
  EXPECT_LT(std::stoi(run.out.substr(after + 6)), 10) << run.out;
  EXPECT_EQ(names("o"), kFiles);
  EXPECT_EQ(log("o").size(), 2u);  // the header and the first step
}

// The line that waited for the test is the first that the resumed run writes; the last step's too.
TEST_F(TrainCommand, AStoppedTestIsMadeUpFor) {
  Words more = {"--steps", "20", "--report-every", "5", "--test-every", "10", "--prune", "sm"};
  const auto large = [&](const std::string& out, const Words& words) {
    std::string command = line(out, words);
    const std::string small = "'--test-size' '20'";
    return command.replace(command.find(small), small.size(), "'--test-size' '10000'");
  };
  Words resume = more;
  resume.push_back("--resume");
  ASSERT_EQ(run_shell(large("whole", more)).exit_code, 0);
  const auto whole = log("whole");
  bool inside = false;
  // A signal that comes too late for the test is tried again.
  for (int i = 0; i < 10 && !inside; ++i) {
    const std::string out = fmt::format("o{}", i);
    const ProgramResult run = run_shell(
        in_background(large(out, more), folder_.file(out + "/log.csv"), "sleep 0.05; kill -INT $pid"));
    inside = run.out.find("stopped after step 10 of 20") != std::string::npos;
    if (!inside) continue;
    EXPECT_EQ(log(out).size(), 2u);
    // Killed again: once its log has the line that was owed it goes on to the last test.
    const ProgramResult again =
        run_shell(large(out, resume) + " & pid=$!; for i in {1..2000}; do [ \"$(wc -l < '" +
                  folder_.file(out + "/log.csv") + "')\" -gt 3 ] && break; sleep 0.005; done; sleep 0.05; " +
                  "kill -INT $pid; wait $pid");
    EXPECT_TRUE(again.exit_code == 130 || again.exit_code == 0) << again.out << again.err;
    const ProgramResult rest = run_shell(large(out, resume));
    EXPECT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_EQ(log(out), whole) << again.out << rest.out;
    EXPECT_EQ(file(out, "checkpoint.safetensors"), file("whole", "checkpoint.safetensors"));
  }
  EXPECT_TRUE(inside);
}

// The first Ctrl-C waits for the end of a step of seconds, the second does not.
TEST_F(TrainCommand, ASecondSignalEndsAtOnce) {
  std::ofstream(model_) << "model: slow\nlayers:\n  - conv: {out: 64, kernel: 3}\n"
                           "  - conv: {out: 64, kernel: 5, padding: 2}\n  - average_pool: global\n"
                           "  - linear: {out: $classes}\n";
  const std::string slow = fmt::format(
      "\"$LACUNA\" train --model '{}' --size 64 --train-size 32 --test-size 1 --batch 32 --threads 1 "
      "--kernels "
      "dense --out '{}' --steps 1000 --report-every 1 --test-every 1000",
      model_, folder_.file("o"));
  const ProgramResult run = run_shell(
      in_background(slow, folder_.file("o/log.csv"),
                    "sleep 0.1; kill -INT $pid; sleep 0.2; kill -0 $pid && echo waits; kill -INT $pid"));
  EXPECT_EQ(run.exit_code, 130);
  EXPECT_NE(run.out.find("waits"), std::string::npos) << run.out << run.err;
  EXPECT_EQ(run.out.find("stopped after"), std::string::npos) << run.out;
}

// Killed again and again at moments by chance while it saves after every step.
TEST_F(TrainCommand, KilledAtAnyMoment) {
  const Words whole = {"--steps", "100", "--report-every", "7",  "--test-every", "20",
                       "--prune", "sm",  "--prune-every",  "10", "--flip",       "--record",
                       "10"};
  Words more = whole;
  more.insert(more.end(), {"--checkpoint-every", "1"});
  Words resume = more;
  resume.push_back("--resume");
  ASSERT_EQ(run_lacuna(tiny("whole", whole)).exit_code, 0);
  const std::uint64_t seed = 20240607;
  Random random(seed);
  int kills = 0;
  const fs::path saved = folder_.path() / "o" / "checkpoint.safetensors";
  for (int i = 0; i < 12; ++i) {
    const bool goes_on = fs::exists(saved);
    const ProgramResult run =
        run_shell(line("o", goes_on ? resume : more) + " & pid=$!; sleep " +
                  fmt::format("{:.3f}", 0.01 + 0.1 * random.uniform()) + "; kill -KILL $pid; wait $pid");
    if (run.exit_code == 0) break;
    ASSERT_EQ(run.exit_code, 137) << "seed " << seed << " round " << i << ": " << run.err;
    ++kills;
  }
  RecordProperty("kills", kills);
  EXPECT_GT(kills, 0);
  Words rest = whole;
  if (fs::exists(saved)) rest.push_back("--resume");
  const ProgramResult last = run_lacuna(tiny("o", rest));
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(file("o", "checkpoint.safetensors"), file("whole", "checkpoint.safetensors"));
  EXPECT_EQ(log("o"), log("whole"));
  EXPECT_EQ(names("o"), names("whole"));  // nothing half-written is left
  for (const std::string& name : names("whole")) {
    if (!name.starts_with("trace_")) continue;
    EXPECT_EQ(file("o", name), file("whole", name)) << name;
  }
}

TEST_F(TrainCommand, ALineThatWasCutOffIsNotKept) {
  const Words more = {"--steps",      "12",  "--report-every",     "3",
                      "--test-every", "100", "--checkpoint-every", "100"};
  ASSERT_EQ(run_lacuna(tiny("o", more)).exit_code, 0);
  const auto whole = log("o");
  const std::string good = file("o", "log.csv");
  Words resume = more;
  resume.push_back("--resume");
  for (const std::string& bad :
       {std::string("1"), std::string("12,1.5"), std::string("4,junk\n"), std::string("\n\n"),
        std::string("99,1,1,1,1,1,1,1,1,1,1\n"), good.substr(good.find('\n') + 1)}) {
    std::ofstream(folder_.path() / "o" / "log.csv") << good << bad;
    ASSERT_EQ(run_lacuna(tiny("o", resume)).exit_code, 0);
    EXPECT_EQ(file("o", "log.csv"), good) << bad;
  }
  EXPECT_EQ(log("o"), whole);
}

TEST_F(TrainCommand, OneRunAtATimeInAFolder) {
  const ProgramResult both = run_shell(in_background(
      line("o", {"--steps", "1000000", "--report-every", "10", "--checkpoint-every", "1000000"}),
      folder_.file("o/log.csv"), line("o", {"--steps", "3"}) + "; echo second $?; kill -INT $pid"));
  EXPECT_EQ(both.exit_code, 130);
  EXPECT_NE(both.out.find("second 2"), std::string::npos) << both.out;
  EXPECT_NE(both.err.find("another run is writing there; wait for it, or give another --out"),
            std::string::npos)
      << both.err;
}

// ---------------------------------------------------------------- starting from parameters, recording

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
}  // namespace lacuna::testing_support
