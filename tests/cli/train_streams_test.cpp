// `lacuna train` whose terminal, pipe or standard streams go away: nothing that was learnt is lost. And pipes
// and devices in the place of its files, which would be waited for.
#include <fmt/format.h>

#include "cli/train_fixture.hpp"

namespace lacuna::testing {
namespace {

const Words kLong = long_run();

Words resumed(Words words) {
  words.push_back("--resume");
  return words;
}

TEST_F(TrainCommand, ConsoleTextNeverEndsInAFile) {
  const Words more = {"--steps", "8", "--report-every", "2"};
  ASSERT_EQ(run_lacuna(tiny("whole", more)).exit_code, 0);
  for (const char* closed : {"<&- >&-", ">&-", "2>&-", "<&- >&- 2>&-", "<&-"}) {
    const ProgramResult run = run_shell(line("o", more) + " " + closed);
    EXPECT_EQ(run.exit_code, 0) << closed << run.err;
    EXPECT_EQ(log("o"), log("whole")) << closed;
    EXPECT_EQ(file("o", "checkpoint.safetensors"), file("whole", "checkpoint.safetensors")) << closed;
    fs::remove_all(folder_.path() / "o");
  }
}

// A terminal that closes (SIGHUP, often twice), SIGPIPE from elsewhere.
TEST_F(TrainCommand, HangupAndPipeSignalsSave) {
  ASSERT_EQ(run_lacuna(tiny("whole", kLong)).exit_code, 0);
  for (const auto& [signal, code] : {std::pair{"HUP", 129}, {"PIPE", 141}}) {
    const std::string out = signal;
    const ProgramResult run = run_shell(in_background(line(out, kLong), folder_.file(out + "/log.csv"),
                                                      fmt::format("kill -{0} $pid; kill -{0} $pid", signal)));
    ASSERT_EQ(run.exit_code, code) << run.out << run.err;
    EXPECT_EQ(names(out), kFiles);
    const ProgramResult rest = run_lacuna(tiny(out, resumed(kLong)));
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_EQ(file(out, "checkpoint.safetensors"), file("whole", "checkpoint.safetensors"));
    EXPECT_EQ(log(out), log("whole"));
  }
}

TEST_F(TrainCommand, NohupGoesOn) {
  const ProgramResult run = run_shell(in_background("nohup " + line("o", kLong) + " < /dev/null",
                                                    folder_.file("o/log.csv"), "kill -HUP $pid"));
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
}

// `train | head`, and a disk that is full for the console but not for the checkpoint.
TEST_F(TrainCommand, OutputThatCannotBeWrittenSaves) {
  ASSERT_EQ(run_lacuna(tiny("whole", kLong)).exit_code, 0);
  const ProgramResult piped = run_shell(line("pipe", kLong) + " | head -n 7; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(piped.exit_code, 141) << piped.err;
  EXPECT_EQ(piped.err, "");
  const ProgramResult full = run_shell(line("full", kLong) + " > /dev/full");
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_EQ(
      full.err,
      fmt::format("lacuna: error: standard output: cannot write: No space left on device; stopped after "
                  "step 50 of {}; to continue: lacuna train --resume {}\n",
                  long_steps(), folder_.file("full")));
  for (const char* out : {"pipe", "full"}) {
    EXPECT_EQ(names(out), kFiles);
    const ProgramResult rest = run_lacuna(tiny(out, resumed(kLong)));
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_NE(rest.out.find(", resumed at step "), std::string::npos) << rest.out;
    EXPECT_EQ(file(out, "checkpoint.safetensors"), file("whole", "checkpoint.safetensors"));
    EXPECT_EQ(log(out), log("whole"));
  }
}

TEST_F(TrainCommand, PipesAndDevicesInThePlaceOfItsFiles) {
  for (const char* name : {"log.csv", "config.json", "checkpoint.safetensors", "kernels.csv"})
    for (const char* make : {"mkfifo", "ln -s /dev/zero", "mkdir"}) {
      const ProgramResult run =
          run_shell(fmt::format("mkdir '{0}' && {1} '{0}/{2}' && timeout 20 {3}", folder_.file("o"), make,
                                name, line("o", {"--steps", "2"})));
      EXPECT_EQ(run.exit_code, 2) << make << " " << name;
      EXPECT_NE(run.err.find(std::string(name) + ": this is not a plain file; remove it"), std::string::npos)
          << run.err;
      EXPECT_EQ(names("o"), Words{name});
      fs::remove_all(folder_.path() / "o");
    }
}

// The cache of measured kernels; a run without one measures again.
TEST_F(TrainCommand, PipesAndDevicesInThePlaceOfTheCache) {
  for (const char* make : {"mkfifo", "ln -s /dev/zero", "mkdir"}) {
    std::string command = line("o", {"--steps", "1"});
    const std::string sparse = "'sparse'";
    command.replace(command.find(sparse), sparse.size(), "'auto'");
    const ProgramResult run = run_shell(fmt::format(
        "mkdir '{0}' && {1} '{0}/kernels.txt' && ulimit -v 4000000 && LACUNA_CACHE_DIR='{0}' timeout "
        "60 {2}",
        folder_.file("cache"), make, command));
    EXPECT_EQ(run.exit_code, 0) << make << run.err;
    EXPECT_FALSE(fs::is_regular_file(folder_.path() / "cache" / "kernels.txt")) << make;
    fs::remove_all(folder_.path() / "cache");
    fs::remove_all(folder_.path() / "o");
  }
}

// OpenMP would end the program with its own message.
TEST_F(TrainCommand, ThreadsThatCannotBeStarted) {
  std::string command = line("o", {"--steps", "1"});
  const std::string one = "'--threads' '1'";
  command.replace(command.find(one), one.size(), "'--threads' '1000'");
  const ProgramResult run = run_shell("ulimit -s 8192; ulimit -v 1000000; " + command);
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_EQ(run.err.rfind("lacuna: error: --threads 1000: this process can start only ", 0), 0u) << run.err;
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  EXPECT_FALSE(fs::exists(folder_.path() / "o"));
}

}  // namespace
}  // namespace lacuna::testing
