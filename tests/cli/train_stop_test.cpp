// `lacuna train` stopped by signals, killed, and gone on with as if nothing had been.
#include <fmt/format.h>

#include "base/random.hpp"
#include "cli/train_fixture.hpp"

namespace lacuna::testing {
namespace {

TEST_F(TrainCommand, ASignalSavesAndTheRunGoesOn) {
  const Words more = long_run();
  ASSERT_EQ(run_lacuna(tiny("whole", more)).exit_code, 0);
  for (const auto& [signal, code] : {std::pair{"INT", 130}, {"TERM", 143}}) {
    const std::string out = signal;
    const ProgramResult run = run_shell(in_background(line(out, more), folder_.file(out + "/log.csv"),
                                                      std::string("kill -") + signal + " $pid"));
    ASSERT_EQ(run.exit_code, code) << run.out << run.err;
    EXPECT_EQ(run.err, "");
    EXPECT_NE(run.out.find("; to continue: lacuna train --resume " + folder_.file(out) + "\n"),
              std::string::npos)
        << run.out;
    EXPECT_EQ(names(out), kFiles);
    const ProgramResult rest = run_lacuna({"train", "--resume", folder_.file(out)});
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_NE(rest.out.find(", resumed at step "), std::string::npos) << rest.out;
    EXPECT_EQ(file(out, "checkpoint.safetensors"), file("whole", "checkpoint.safetensors"));
    EXPECT_EQ(log(out), log("whole"));
  }
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
  EXPECT_NE(run.out.find("stopped after step 2 of 100000; to continue: lacuna train --resume " +
                         folder_.file("o") + "\n"),
            std::string::npos)
      << run.out;
  // Within a second, on a machine that has nothing else to do.
  const std::size_t after = run.out.find("after ", run.out.find("to continue"));
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
    return command.replace(command.find(small), small.size(), "'--test-size' '30000'");
  };
  Words resume = more;
  resume.push_back("--resume");
  ASSERT_EQ(run_shell(large("whole", more)).exit_code, 0);
  const auto whole = log("whole");
  bool inside = false;
  // A signal that comes too early or too late for the test, which takes 0.1 s, is tried again a little later.
  for (int i = 0; i < 30 && !inside; ++i) {
    const std::string out = fmt::format("o{}", i);
    const ProgramResult run = run_shell(in_background(large(out, more), folder_.file(out + "/log.csv"),
                                                      fmt::format("sleep {:.2f}; kill -INT $pid", 0.01 * i)));
    // The header and the line of step 5; not yet that of step 10.
    inside = run.out.find("stopped after step 10 of 20") != std::string::npos && log(out).size() == 2;
    if (!inside) continue;
    // Killed again: once its log has the line that was owed it continues to the last test.
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
  bool waits = false;
  // The first may come at the very end of a step; then it is tried again.
  for (int i = 0; i < 8 && !waits; ++i) {
    const std::string out = fmt::format("o{}", i);
    const std::string slow = fmt::format(
        "\"$LACUNA\" train --model '{}' --size 128 --train-size 32 --test-size 1 --batch 32 --threads 1 "
        "--kernels dense --out '{}' --steps 1000 --report-every 1 --test-every 1000",
        model_, folder_.file(out));
    const ProgramResult run = run_shell(
        in_background(slow, folder_.file(out + "/log.csv"),
                      "sleep 0.1; kill -INT $pid; sleep 0.1; kill -0 $pid && echo waits; kill -INT $pid"));
    EXPECT_EQ(run.exit_code, 130) << run.out << run.err;
    waits = run.out.find("waits") != std::string::npos &&
            run.out.find("stopped after") == std::string::npos &&
            !fs::exists(folder_.path() / out / kFiles[0]);
  }
  EXPECT_TRUE(waits);
}

// Killed again and again at random moments while it saves after every step.
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

}  // namespace
}  // namespace lacuna::testing
