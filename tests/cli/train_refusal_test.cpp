// Errors of `lacuna train` before it starts: options, names, folders, checkpoints, too much memory.
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/io/output_file.hpp"
#include "cli/train_fixture.hpp"

namespace lacuna::testing {
namespace {

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
  for (const char* value : {"nan", "0", "-0.1", "1.1", "x"})
    option("--density", value, "--density: give a number above 0 and up to 1");
  for (const char* value : {"nan", "0", "-0.1", "1.1", "x"})
    option("--selective-backprop", value, "--selective-backprop: give a number above 0 and up to 1");
  option("--density", "0.5", "--density: it belongs to --sparsify");
  for (const char* value : {"nan", "0", "1e300", "inf"})
    option("--epochs", value, "--epochs: give a number above 0");
  for (const char* name : {"--steps", "--checkpoint-every", "--test-every", "--report-every", "--record",
                           "--samples", "--prune-every", "--train-size", "--test-size", "--batch"})
    for (const char* value :
         {"9999999999999999999", "0", "-1", "1.5", "1e3", "x", "99999999999999999999999"}) {
      option(name, value, std::string(name) + ": give a whole number from 1 to ");
      if (runs_sanitized()) break;  // one code for all of them, and a tenth of a second to start
    }
  for (const char* value : {"-1", "1.5", "18446744073709551616"})
    option("--seed", value, "--seed: give a whole number");
  option("--warmup", "-1", "--warmup: give a whole number");
  option("--threads", "1025", "--threads: give a whole number from 0 to 1024");
  option("--size", "7", "--size: give a whole number from 8 to 4096");
  option("--crop", "8", "images of 8x8 cannot be cropped with a padding of 8");
  option("--batch", "65", "a batch of 65 images cannot be taken from 64 images; use a batch from 1 to 64");
  option("--kernels", "spars", "did you mean 'sparse'?");
  option("--precision", "bfloat", "did you mean 'bfloat16'?");
  option("--precision", "bfloat16", "use --kernels auto or dense");  // these are sparse
  option("--schedule", "cosin", "did you mean 'cosine'?");
  option("--prune", "smm", "did you mean 'sm'?");
  option("--sparsify", "swt", "did you mean 'swat'?");
  expect_refused(tiny("o", {"--sparsify", "swat", "--sparsify-warmup", "3"}), "only resprop has a warm-up");
  expect_refused(tiny("o", {"--sparsify", "swat", "--quantize", "4"}), "leave out --quantize or --sparsify");
  for (const char* value : {"0", "1", "9", "4.5", "x"})
    option("--quantize", value, "--quantize: give a whole number from 2 to 8");
  expect_refused(tiny("o", {"--beside-dense"}), "this run is dense itself");
  option("--sparsify-warmup", "-1", "--sparsify-warmup: give a whole number");
  expect_refused(tiny("o", {"--sparsify", "swat", "--prune", "sm"}), "leave out --prune or --sparsify");
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
  option("--init", model_, "this is a text, not a safetensors file");
  option("--out", model_, "the folder cannot be created");
  option("--out", "/proc/no/such", "the folder cannot be created");
  expect_refused(tiny("o", {"--recrd", "3"}), "did you mean '--record'?");
  expect_refused(tiny("o", {"extra"}), "extra");
  expect_refused(tiny("o", {"--resume"}), "there is no checkpoint to resume from");
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
  expect_refused(tiny("o", {"--steps", "4"}), "a run has been saved there; continue it (--resume)");
  expect_refused(tiny("o", {"--steps", "2", "--resume"}), "it is at step 3, beyond the 2 asked for");
  for (const auto& [name, value, was] : {std::tuple{"--lr", "0.5", "with '0.02'"},
                                         {"--seed", "7", "with '1'"},
                                         {"--prune", "sm", "with 'none'"},
                                         {"--momentum", "0.5", "with '0.9'"},
                                         {"--schedule", "step", "with 'cosine'"},
                                         {"--crop", "1", "with '0'"},
                                         {"--init", "x", "without it"}})
    expect_refused(tiny("o", {"--steps", "3", "--resume", name, value}),
                   fmt::format("{} {}: the run in '{}' was started {}; leave out {} to continue it", name,
                               value, folder_.file("o"), was, name));
  expect_refused(tiny("o", {"--resume", "--flip"}), "--flip: the run in ");
  expect_refused(tiny("o", {"--resume", "--set", "classes=3"}),
                 "was started with '10'; leave out --set classes");
  // Without the configuration the checkpoint itself knows what it was trained with.
  fs::rename(folder_.path() / "o" / "config.json", folder_.path() / "kept.json");
  expect_refused(tiny("o", {"--steps", "3", "--resume", "--lr", "0.5"}),
                 "its run had lr='0.02', this one has '0.5'");
  write_file(folder_.path() / "o" / "config.json", "{\"schema\": 1, \"lr\": -1}");
  expect_refused({"train", "--resume", folder_.file("o")},
                 "config.json: what it says of --lr is wrong: --lr: give a positive number");
  write_file(folder_.path() / "o" / "config.json", "[]");
  expect_refused({"train", "--resume", folder_.file("o")}, "this is not the configuration of a training");
  fs::rename(folder_.path() / "kept.json", folder_.path() / "o" / "config.json");
  EXPECT_EQ(file("o", "checkpoint.safetensors"), saved);
  EXPECT_EQ(file("o", "log.csv"), logged);
  // A run that is over stays over, until more steps are given.
  const ProgramResult again = run_lacuna(tiny("o", {"--steps", "3", "--resume"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(file("o", "checkpoint.safetensors"), saved);
  EXPECT_EQ(file("o", "log.csv"), logged);
  for (const char* steps : {"5", "6"})
    EXPECT_EQ(run_lacuna({"train", "--resume", folder_.file("o"), "--steps", steps}).exit_code, 0) << steps;
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
       "its checksum does not match its content; use an earlier checkpoint or start again without --resume");
}

// Whatever the kernels: from the network alone, so nothing is allocated and no time is lost.
TEST_F(TrainCommand, MemoryIsKnownBeforeItIsAllocated) {
  std::ofstream(model_) << "model: wide\nlayers:\n  - conv: {name: a, out: 64, kernel: 3, padding: 1000}\n"
                           "  - relu\n  - conv: {name: b, out: 64, kernel: 3, padding: 1}\n"
                           "  - average_pool: global\n  - linear: {out: $classes}\n";
  for (const char* kernels : {"dense", "sparse", "auto"}) {
    for (const auto& [batch, remedy] : {std::pair{"1", "no batch fits"}, {"4", "use a batch of at most "}}) {
      Words words = tiny("o", {"--steps", "1"});
      *(std::ranges::find(words, "--kernels") + 1) = kernels;
      *(std::ranges::find(words, "--batch") + 1) = batch;
      std::string command =
          std::string("ulimit -v ") + (*batch == '1' ? "2000000" : "12000000") + "; \"$LACUNA\"";
      for (const std::string& word : words) command += " '" + word + "'";
      const auto start = std::chrono::steady_clock::now();
      const ProgramResult run = run_shell(command);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      EXPECT_EQ(run.exit_code, 2) << kernels << run.err;
      EXPECT_EQ(run.err.rfind("lacuna: error: wide: training it with a batch of ", 0), 0u)
          << kernels << run.err;
      EXPECT_NE(run.err.find(" GiB of memory, this process may use "), std::string::npos) << run.err;
      EXPECT_NE(run.err.find("the largest output, of 'a', is 64x2006x2006"), std::string::npos) << run.err;
      EXPECT_NE(run.err.find(remedy), std::string::npos) << run.err;
      EXPECT_LT(seconds.count(), 5) << kernels;  // 0.1 s on a machine that has nothing else to do
      EXPECT_FALSE(fs::exists(folder_.path() / "o"));
    }
  }
}

}  // namespace
}  // namespace lacuna::testing
