// Runs of `lacuna train` that cannot end well: lost trainings, full disks. What was saved before stays good.
#include <sys/mount.h>
#include <unistd.h>

#include "cli/train_fixture.hpp"

namespace lacuna::testing {
namespace {

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

// The rate grows until the loss is lost. Whatever was saved last is a state that a run can continue from.
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
  // It would continue to record every step.
  const ProgramResult again =
      saved ? run_lacuna(tiny("disk/o", {"--record", "1000", "--resume"})) : ProgramResult();
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

// The disk is full when the run is resumed: what was saved stays as it is, and with room the run ends as if
// nothing had been.
TEST_F(TrainCommand, NoSpaceKeepsTheLastCheckpoint) {
  const std::string steps = runs_sanitized() ? "1000" : "2000";
  const Words more = {"--steps", steps, "--report-every", "200", "--checkpoint-every", "250"};
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

}  // namespace
}  // namespace lacuna::testing
