// Does the command line do what it says: results, messages, exit codes, files?
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/io/output_file.hpp"
#include "cli/cli_fixture.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using testing::CliTest;
using testing::kAlexnet;
using testing::kSqueezenet;
using testing::ProgramResult;
using testing::read_text;
using testing::run_lacuna;
using testing::run_on_terminal;
using testing::run_shell;

TEST_F(CliTest, VersionAndHelp) {
  EXPECT_EQ(run_lacuna({"--version"}).out.rfind("lacuna " LACUNA_TEST_VERSION "\n", 0), 0u);
  const ProgramResult help = run_lacuna({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command : {"demo", "simulate", "compare", "arch"}) {
    EXPECT_NE(help.out.find(command), std::string::npos);
    const ProgramResult own = run_lacuna({command, "--help"});
    EXPECT_EQ(own.exit_code, 0);
    EXPECT_EQ(own.err, "");
    EXPECT_NE(own.out.find("Examples:"), std::string::npos) << own.out;
    EXPECT_NE(own.out.find(fmt::format("lacuna {}", command)), std::string::npos);
  }
}

TEST_F(CliTest, MistypedCommandsAndOptionsSuggestTheNearest) {
  expect_error(run_lacuna({}), "'lacuna' needs a command");
  expect_error(run_lacuna({"simulat", kAlexnet}), "unknown command 'simulat'; did you mean 'simulate'?");
  expect_error(run_lacuna({"arch", "shwo"}), "unknown command 'shwo'; did you mean 'show'?");
  expect_error(run_lacuna({"simulate", kAlexnet, "--thread", "1"}),
               "unknown option '--thread' of 'lacuna simulate'; did you mean '--threads'?");
  expect_error(run_lacuna({"simulate", kAlexnet, "--jsn=x"}), "did you mean '--json'?");
  expect_error(run_lacuna({"simulate"}), "TRACE");
  expect_error(run_lacuna({"simulate", kAlexnet, "--threads", "many"}), "--threads");
  expect_error(run_lacuna({"simulate", kAlexnet, "--threads", "-1"}), "--threads");
  expect_error(run_lacuna({"simulate", kAlexnet, "--engine", "functionl"}), "did you mean 'functional'?");
  expect_error(run_lacuna({"simulate", kAlexnet, "--arch", "tensordahs"}),
               "--arch: unknown machine 'tensordahs'; did you mean 'tensordash'?");
  expect_error(run_lacuna({"arch", "show", "dens"}), "did you mean 'dense'?");
  expect_error(run_lacuna({"simulate", kAlexnet, "--set", "rwos=4"}),
               "unknown key 'rwos'; did you mean 'rows'?");
  expect_error(run_lacuna({"simulate", kAlexnet, "--set", "rows=100"}), "allowed: 1..64");
  expect_error(run_lacuna({"simulate", kAlexnet, "--set", "rows"}), "write key=value");
}

TEST_F(CliTest, BadTracesAreOneLine) {
  expect_error(run_lacuna({"simulate", "/nowhere/a.safetensors"}), "/nowhere/a.safetensors: ");
  write_file(folder_.file("empty"), "");
  expect_error(run_lacuna({"simulate", folder_.file("empty")}), "empty");
  write_file(folder_.file("junk"), "this is no trace at all, not even close");
  expect_error(run_lacuna({"simulate", folder_.file("junk")}), folder_.file("junk"));
  const std::string whole = read_text(kAlexnet);
  write_file(folder_.file("cut.safetensors.zst"), whole.substr(0, whole.size() / 2));
  expect_error(
      run_lacuna({"simulate", folder_.file("cut.safetensors.zst"), "--json", folder_.file("out.json")}),
      "cut.safetensors.zst");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.json")));
  expect_error(run_lacuna({"simulate", kAlexnet, kAlexnet}), "given twice");
}

TEST_F(CliTest, NumbersThatDoNotFitAndEmptyNamesAreRefused) {
  const std::string trace = small_trace("t.safetensors");
  for (const char* seed : {"-1", "99999999999999999999999", "1e3", ""}) {
    EXPECT_EQ(run_lacuna({"simulate", trace, "--seed", seed}).exit_code, 2) << seed;
    EXPECT_EQ(run_lacuna({"synth", "--like", trace, "--seed", seed, "-o", folder_.file("s")}).exit_code, 2)
        << seed;
  }
  EXPECT_EQ(run_lacuna({"simulate", trace, "--seed", "18446744073709551615"}).exit_code, 0);
  for (const char* command : {"simulate", "inspect"}) {
    EXPECT_EQ(run_lacuna({command, trace, "--json", ""}).exit_code, 2);
    EXPECT_EQ(run_lacuna({command, trace, "--csv", ""}).exit_code, 2);
  }
}

// A few hundred bytes that declare years of work.
TEST_F(CliTest, WorkThatIsOnlyDeclaredIsRefused) {
  TraceBuilder builder("huge");
  builder.add_layer("first", LayerShape::conv2d(1, 16, 16, {1 << 18, 1 << 17}, {1, 1}));
  builder.add_layer("second",
                    LayerShape::conv2d(1, 1 << 23, 1 << 23, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1 << 23));
  const std::string trace = folder_.file("huge.safetensors");
  write_trace(builder.build(), trace, {});
  for (const char* arch : {"dense", "tensordash", "scnn", "ant"}) {
    const ProgramResult result = run_lacuna({"simulate", trace, "--arch", arch});
    EXPECT_EQ(result.exit_code, 2) << arch;
    EXPECT_NE(result.err.find("steps to simulate"), std::string::npos) << result.err;
  }
  EXPECT_EQ(run_lacuna({"storage", "--backside", trace}).exit_code, 2);
  EXPECT_EQ(run_lacuna({"storage", trace}).exit_code, 0);
  EXPECT_EQ(run_lacuna({"inspect", trace}).exit_code, 0);
}

TEST_F(CliTest, AnInputIsNotOverwritten) {
  const std::string trace = small_trace("t.safetensors");
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink(trace, link);
  const std::string before = read_text(trace);
  for (const std::string& out : {trace, link, folder_.file("./t.safetensors")}) {
    for (const char* option : {"--json", "--csv"}) {
      for (const char* command : {"simulate", "inspect"}) {
        const ProgramResult result = run_lacuna({command, trace, option, out});
        EXPECT_EQ(result.exit_code, 2);
        EXPECT_NE(result.err.find("this is an input; write to another file"), std::string::npos)
            << result.err;
      }
      EXPECT_EQ(run_lacuna({"bench", "layers", "--trace", trace, option, out}).exit_code, 2);
    }
    EXPECT_EQ(run_lacuna({"synth", "--like", trace, "-o", out}).exit_code, 2);
  }
  EXPECT_EQ(read_text(trace), before);
}

// As when a mapped file is cut short. The test sends the signal: the kernel decides when a page is read.
TEST_F(CliTest, AFileThatShrinksIsAnErrorOfTheInput) {
  const std::string pipe = folder_.file("pipe");
  const ProgramResult result =
      run_shell("mkfifo '" + pipe + "'; $LACUNA inspect '" + small_trace("t.safetensors") + "' --json '" +
                pipe + "' & sleep 0.5; kill -BUS $!; wait $!");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("a file became shorter while it was read"), std::string::npos) << result.err;
}

TEST_F(CliTest, ConfigurationFilesAreChecked) {
  const std::string trace = small_trace("t.safetensors");
  const auto with = [&](const std::string& yaml) {
    write_file(folder_.file("c.yaml"), yaml);
    return run_lacuna({"simulate", trace, "--config", folder_.file("c.yaml"), "--json", "-"});
  };
  const std::string at = folder_.file("c.yaml");
  expect_error(with("arch: dense\nrwos: 2\n"), at + ":2: unknown key 'rwos' for dense; did you mean 'rows'?");
  expect_error(with("arch: dense\nrows: two\n"),
               at + ":2: 'two' is not a value for 'rows' of dense; allowed: 1..64");
  expect_error(with("arch: dence\n"), at + ":1: unknown machine 'dence'; did you mean 'dense'?");
  expect_error(with("arch: [dense\n"), "not YAML");
  expect_error(with(""), "it is empty");
  expect_error(run_lacuna({"simulate", trace, "--config", "/nowhere/c.yaml"}), "/nowhere/c.yaml");
  expect_error(with("arch: tensordash\nconnectivity: [[0,0],[9,9]]\n"), at + ": ");

  const ProgramResult good = with("arch: dense\nname: mine\nparams: {tiles: 1, rows: 2}\n");
  ASSERT_EQ(good.exit_code, 0) << good.err;
  const json run = json::parse(good.out)["runs"][0];
  EXPECT_EQ(run["arch"], "mine");
  EXPECT_EQ(run["base"], "dense");
  EXPECT_EQ(run["config"]["tiles"], 1);
  EXPECT_EQ(run["config"]["rows"], 2);
  EXPECT_EQ(run["config"]["columns"], 4);
}

TEST_F(CliTest, MachinesSideBySide) {
  const std::string trace = small_trace("t.safetensors");
  write_file(folder_.file("deep.yaml"), "arch: tensordash\ndepth: 2\n");
  const ProgramResult result =
      run_lacuna({"simulate", trace, "--arch", "dense,tensordash", "--config", folder_.file("deep.yaml"),
                  "--set", "tiles=1", "--set", "tensordash.rows=1", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json runs = json::parse(result.out)["runs"];
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0]["arch"], "dense");
  EXPECT_EQ(runs[1]["arch"], "tensordash");
  EXPECT_EQ(runs[2]["arch"], "tensordash:deep");
  for (const json& run : runs) EXPECT_EQ(run["config"]["tiles"], 1);
  EXPECT_EQ(runs[0]["config"]["rows"], 4);
  EXPECT_EQ(runs[1]["config"]["rows"], 1);
  EXPECT_EQ(runs[2]["config"]["rows"], 4);
  EXPECT_EQ(runs[2]["config"]["depth"], 2);
  EXPECT_EQ(runs[0]["total"]["all"]["cycles"], runs[0]["total"]["all"]["baseline_cycles"]);
  EXPECT_LT(runs[1]["total"]["all"]["cycles"], runs[1]["total"]["all"]["baseline_cycles"]);
  expect_error(run_lacuna({"simulate", trace, "--arch", "dense,dense"}), "two machines are called 'dense'");
}

TEST_F(CliTest, DefaultMachineIsTensorDash) {
  const json runs =
      json::parse(run_lacuna({"simulate", small_trace("t.safetensors"), "--json", "-"}).out)["runs"];
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]["arch"], "tensordash");
}

// The known speedups of one tile, which other suites check in full: here through the program.
TEST_F(CliTest, OneTileGivesTheKnownSpeedups) {
  const json runs = json::parse(
      run_lacuna({"simulate", kAlexnet, kSqueezenet, "--set", "tiles=1", "--json", "-"}).out)["runs"];
  const auto speedup = [&](int run, const char* op) {
    const json& sum = runs[static_cast<std::size_t>(run)]["total"][op];
    return fmt::format("{:.2f}", sum["baseline_cycles"].get<double>() / sum["cycles"].get<double>());
  };
  EXPECT_EQ(speedup(0, "forward"), "2.24");
  EXPECT_EQ(speedup(0, "input_grad"), "2.27");
  EXPECT_EQ(speedup(0, "weight_grad"), "2.09");
  EXPECT_EQ(speedup(0, "all"), "2.20");
  EXPECT_EQ(speedup(1, "all"), "1.64");
}

TEST_F(CliTest, EnginesAgree) {
  const std::string trace = small_trace("t.safetensors");
  const json fast =
      json::parse(run_lacuna({"simulate", trace, "--arch", "dense,tensordash", "--json", "-"}).out);
  const json functional = json::parse(
      run_lacuna({"simulate", trace, "--arch", "dense,tensordash", "--engine", "functional", "--json", "-"})
          .out);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(functional["runs"][i]["engine"], "functional");
    EXPECT_EQ(fast["runs"][i]["layers"], functional["runs"][i]["layers"]);
  }
}

TEST_F(CliTest, SameBytesForAnyNumberOfThreads) {
  for (const char* engine : {"fast", "functional"}) {
    const std::vector<std::string> traces = std::string(engine) == "fast"
                                                ? std::vector<std::string>{kAlexnet, kSqueezenet}
                                                : std::vector<std::string>{small_trace("t.safetensors")};
    for (const char* format : {"--json", "--csv"}) {
      std::string first;
      for (const char* threads : {"1", "2", "5"}) {
        std::vector<std::string> arguments{
            "simulate", "--arch", "dense,tensordash", "--engine", engine, "--threads", threads, format, "-"};
        arguments.insert(arguments.begin() + 1, traces.begin(), traces.end());
        const ProgramResult result = run_lacuna(arguments);
        ASSERT_EQ(result.exit_code, 0) << result.err;
        if (first.empty()) first = result.out;
        EXPECT_EQ(result.out, first) << engine << " " << format << " " << threads;
      }
    }
  }
}

TEST_F(CliTest, StandardOutputHoldsTheResultAlone) {
  const std::string trace = small_trace("t.safetensors");
  const ProgramResult both = run_lacuna({"simulate", trace, "--json", "-", "--csv", folder_.file("r.csv")});
  EXPECT_EQ(both.err, "");
  EXPECT_TRUE(json::accept(both.out));
  const std::string csv = read_text(folder_.file("r.csv"));
  EXPECT_TRUE(csv.starts_with("trace,model,progress,recorded_share,left_out,arch,"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 2 + 3 + 3);
  EXPECT_EQ(run_lacuna({"simulate", trace, "--csv", "-"}).out, csv);
  expect_error(run_lacuna({"simulate", trace, "--json", "-", "--csv", "-"}),
               "already goes to standard output");
  expect_error(run_lacuna({"simulate", trace, "--json", folder_.file("x"), "--csv", folder_.file("x")}),
               "same file");
}

TEST_F(CliTest, NoPartialFileOnAFullDisk) {
  const std::string trace = small_trace("t.safetensors");
  expect_error(run_lacuna({"simulate", trace, "--json", "/dev/full"}),
               "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  write_file(folder_.file("old.json"), "old");
  const auto before = folder_.names();
  // 1 KB: less than the result. The limit of the size of files stands for a quota.
  const std::string limited =
      "ulimit -f 1; exec \"$LACUNA\" simulate '" + trace + "' --json '" + folder_.file("new.json") + "'";
  expect_error(run_shell(limited), "new.json: cannot write: File too large; free some space");
  EXPECT_EQ(folder_.names(), before);
  expect_error(run_shell("ulimit -f 1; exec \"$LACUNA\" simulate '" + trace + "' --csv '" +
                         folder_.file("old.json") + "'"),
               "old.json");
  EXPECT_EQ(read_text(folder_.file("old.json")), "old");
  EXPECT_EQ(folder_.names(), before);
  expect_error(run_lacuna({"simulate", trace, "--json", folder_.file("no/such/folder.json")}),
               "there is no folder");
  expect_error(run_lacuna({"simulate", trace, "--json", folder_.path().string()}), "this is a folder");
}

TEST_F(CliTest, FullStandardOutputIsAnErrorAndAClosedPipeIsNot) {
  const std::string trace = small_trace("t.safetensors");
  for (const std::string& command : {std::string("arch list"), "simulate '" + trace + "'",
                                     "simulate '" + trace + "' --json -", std::string("--help")}) {
    const ProgramResult full = run_shell("\"$LACUNA\" " + command + " > /dev/full");
    EXPECT_EQ(full.exit_code, 2) << command;
    EXPECT_NE(full.err.find("standard output: cannot write: No space left on device"), std::string::npos)
        << full.err;
    const ProgramResult closed = run_shell("\"$LACUNA\" " + command + " | true; exit ${PIPESTATUS[0]}");
    EXPECT_EQ(closed.err, "") << command;
    EXPECT_TRUE(closed.exit_code == 141 || closed.exit_code == 0) << command << ": " << closed.exit_code;
  }
  const ProgramResult certain =
      run_shell("\"$LACUNA\" arch list | (exec 0<&-; sleep 0.3); exit ${PIPESTATUS[0]}");
  EXPECT_EQ(certain.err, "");
}

TEST_F(CliTest, CompareTellsWhatChanged) {
  const std::string trace = small_trace("t.safetensors");
  const std::string a = folder_.file("a.json");
  const std::string b = folder_.file("b.json");
  ASSERT_EQ(run_lacuna({"simulate", trace, "--json", a}).exit_code, 0);
  ASSERT_EQ(run_lacuna({"simulate", trace, "--json", b, "--set", "rows=1"}).exit_code, 0);
  const ProgramResult same = run_lacuna({"compare", a, a});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_NE(same.out.find("The results are equal"), std::string::npos);
  const ProgramResult differ = run_lacuna({"compare", a, b});
  EXPECT_EQ(differ.exit_code, 1);
  EXPECT_EQ(differ.err, "");
  EXPECT_NE(differ.out.find("rows: 4 in A, 1 in B"), std::string::npos) << differ.out;
  EXPECT_NE(differ.out.find("The results differ"), std::string::npos);
  const ProgramResult as_json = run_lacuna({"compare", a, b, "--json"});
  EXPECT_EQ(as_json.exit_code, 1);
  EXPECT_TRUE(json::parse(as_json.out)["differs"].get<bool>());
  EXPECT_EQ(run_lacuna({"compare", a, b, "--threshold", "100000"}).exit_code, 0);
  expect_error(run_lacuna({"compare", a, trace}), trace + ": ");
  expect_error(run_lacuna({"compare", a}), "B.json");
  expect_error(run_lacuna({"compare", a, "/nowhere.json"}), "/nowhere.json");
}

TEST_F(CliTest, EveryMachineAndConfigurationCanBeShown) {
  const json machines = json::parse(run_lacuna({"arch", "list", "--json"}).out)["machines"];
  EXPECT_GE(machines.size(), 2u);
  const std::string list = run_lacuna({"arch", "list"}).out;
  for (const json& machine : machines) {
    const auto name = machine["name"].get<std::string>();
    EXPECT_NE(list.find(name), std::string::npos);
    const ProgramResult text = run_lacuna({"arch", "show", name});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    const json shown = json::parse(run_lacuna({"arch", "show", name, "--json"}).out);
    EXPECT_EQ(shown["base"], machine["base"]);
    bool changed = false;
    for (const json& param : shown["params"]) {
      EXPECT_NE(text.out.find(param["name"].get<std::string>() + " = "), std::string::npos);
      EXPECT_NE(param["help"], "") << param;
      EXPECT_NE(param["citation"], "") << param;
      changed = changed || param["changed"].get<bool>();
    }
    EXPECT_EQ(changed, machine["kind"] == "configuration") << name;
    const ProgramResult run =
        run_lacuna({"simulate", small_trace("t.safetensors"), "--arch", name, "--json", "-"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
}

TEST_F(CliTest, TablesByProgressOfTheTraining) {
  std::vector<std::string> arguments{"simulate", "--layers"};
  for (const int percent : {100, 30}) {
    const LayerShape shape = LayerShape::conv2d(2, 16, 16, {8, 8}, {3, 3});
    std::vector<bool> nonzero(static_cast<std::size_t>(shape.a_elements()));
    for (std::size_t i = 0; i < nonzero.size(); ++i)
      nonzero[i] = i % 7 < static_cast<std::size_t>(percent) / 20;
    TraceBuilder builder("net");
    builder.info().model = "net";
    builder.info().progress = percent / 100.0;
    builder.add_layer("conv", shape).mask(Operand::kA, nonzero);
    arguments.push_back(folder_.file(fmt::format("p{}.safetensors", percent)));
    write_trace(builder.build(), arguments.back());
  }
  const ProgramResult result = run_lacuna(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("net, 2 traces together"), std::string::npos) << result.out;
  const std::size_t early = result.out.find("    30 %");
  const std::size_t late = result.out.find("   100 %");
  ASSERT_NE(early, std::string::npos);
  ASSERT_NE(late, std::string::npos);
  EXPECT_LT(early, late);
  EXPECT_NE(result.out.find("by layer"), std::string::npos);
}

TEST_F(CliTest, ColourOnATerminalOnly) {
  EXPECT_EQ(run_lacuna({"simulate", kAlexnet}).out.find('\x1b'), std::string::npos);
  if (!testing::has_terminals()) GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_NE(run_on_terminal({"simulate", kAlexnet}).out.find("\x1b[1m"), std::string::npos);
  EXPECT_EQ(run_on_terminal({"simulate", kAlexnet}, {"NO_COLOR=1"}).out.find('\x1b'), std::string::npos);
  EXPECT_EQ(run_on_terminal({"simulate", kAlexnet}, {"TERM=dumb"}).out.find('\x1b'), std::string::npos);
}

TEST_F(CliTest, BarsOnATerminalOnly) {
  const std::string trace = small_trace("t.safetensors");
  const auto bars = [](const ProgramResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.out;
    return result.out.find("█") != std::string::npos;
  };
  for (const std::vector<std::string>& command : {std::vector<std::string>{"simulate", trace, "--layers"},
                                                  std::vector<std::string>{"inspect", trace}}) {
    EXPECT_FALSE(bars(run_lacuna(command)));
    if (!testing::has_terminals()) GTEST_SKIP() << "no pseudo-terminals here";
    EXPECT_TRUE(bars(run_on_terminal(command, {"LC_ALL=C.UTF-8"})));
    EXPECT_FALSE(bars(run_on_terminal(command, {"LC_ALL=C"})));
    EXPECT_FALSE(bars(run_on_terminal(command, {"LC_ALL=C.UTF-8", "NO_COLOR=1"})));
    EXPECT_FALSE(bars(run_on_terminal(command, {"LC_ALL=C.UTF-8", "TERM=dumb"})));
  }
}

TEST_F(CliTest, ControlCharactersNeverReachTheTerminal) {
  const ProgramResult result = run_lacuna({"simulate", "bad\x1b[31mname\n"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
}

}  // namespace
}  // namespace lacuna
