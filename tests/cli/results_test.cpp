// Results for programs: JSON that follows its schema, energy, area.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/io/output_file.hpp"
#include "cli/cli_fixture.hpp"
#include "cli/json_schema.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using testing::CliTest;
using testing::JsonSchema;
using testing::kAlexnet;
using testing::kSqueezenet;
using testing::ProgramResult;
using testing::read_text;
using testing::run_lacuna;
using testing::run_shell;

constexpr const char* kSchema = LACUNA_SOURCE_DIR "/docs/schema/result-v2.schema.json";

// Inference is the forward operation alone; what does not run is neither counted nor shown.
TEST_F(CliTest, OperationsChooseWhatRuns) {
  const std::string trace = small_trace("t.safetensors");
  const auto run = [&](const std::string& operations, const std::string& format) {
    std::vector<std::string> line{"simulate", trace,          "--arch",  "tensordash-stored",
                                  "--energy", "--operations", operations};
    if (!format.empty()) line.insert(line.end(), {format, "-"});
    return run_lacuna(line);
  };
  const ProgramResult forward = run("forward", "--json");
  ASSERT_EQ(forward.exit_code, 0) << forward.err;
  const json document = json::parse(forward.out);
  EXPECT_EQ(JsonSchema(json::parse(read_text(kSchema))).violations(document), std::vector<std::string>{});
  const json& result = document["runs"][0];
  for (const json& layer : result["layers"]) {
    ASSERT_EQ(layer["ops"].size(), 1u);
    EXPECT_EQ(layer["ops"][0]["op"], "forward");
  }
  EXPECT_EQ(result["total"]["all"], result["total"]["forward"]);
  const std::string all = run("forward,input_grad,weight_grad", "--json").out;
  EXPECT_EQ(all,
            run_lacuna({"simulate", trace, "--arch", "tensordash-stored", "--energy", "--json", "-"}).out);
  EXPECT_EQ(json::parse(all)["runs"][0]["total"]["forward"], result["total"]["forward"]);
  EXPECT_EQ(run("forward", "").out.find("weight_grad"), std::string::npos);
  const ProgramResult wrong = run("forwrad", "");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("did you mean 'forward'?"), std::string::npos) << wrong.err;
}

TEST_F(CliTest, JsonFollowsItsSchema) {
  const JsonSchema schema(json::parse(read_text(kSchema)));
  const json machines = json::parse(run_lacuna({"arch", "list", "--json"}).out)["machines"];
  std::string all;
  for (const json& machine : machines) {
    if (machine["kind"] == "model") all += (all.empty() ? "" : ",") + machine["name"].get<std::string>();
  }
  const std::string trace = small_trace("t.safetensors");
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"simulate", trace, "--arch", all, "--json", "-"},
           {"simulate", trace, "--arch", all, "--engine", "functional", "--seed", "18446744073709551615",
            "--json", "-"},
           {"simulate", kAlexnet, kSqueezenet, "--arch", "dense,tensordash", "--json", "-"}}) {
    const ProgramResult result = run_lacuna(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json document = json::parse(result.out);
    EXPECT_EQ(schema.violations(document), std::vector<std::string>{});
    for (const json& run : document["runs"]) {
      EXPECT_EQ(run["layers"][0]["ops"].size(), 2u);  // no input gradient of the first layer
      double cycles = 0;
      double per_batch = 0;
      for (const json& layer : run["layers"]) {
        for (const json& op : layer["ops"]) {
          cycles += op["cycles"].get<double>();
          per_batch += op["cycles"].get<double>() * layer["batch_scale"].get<double>();
        }
      }
      EXPECT_EQ(run["total"]["all"]["cycles"], cycles);
      EXPECT_EQ(run["per_batch"]["all"]["cycles"], per_batch);
    }
    // The checker itself must notice what is wrong.
    json wrong = document;
    wrong["runs"][0]["layers"][0]["ops"][0]["cycles"] = 1.5;
    wrong["runs"][0]["surprise"] = 1;
    wrong["runs"][0].erase("seed");
    EXPECT_EQ(schema.violations(wrong).size(), 3u);
  }
}

TEST_F(CliTest, JsonFollowsItsSchemaByAnIndependentChecker) {
  if (run_shell("python3 -c 'import jsonschema'").exit_code != 0)
    GTEST_SKIP() << "python3-jsonschema is not installed";
  const ProgramResult result =
      run_shell("set -e; \"$LACUNA\" simulate '" + small_trace("t.safetensors") + "' '" + kSqueezenet +
                "' --arch dense,tensordash --json - | python3 -c 'import json, sys, jsonschema; "
                "schema = json.load(open(\"" +
                std::string(kSchema) +
                "\")); "
                "jsonschema.Draft202012Validator.check_schema(schema); "
                "jsonschema.validate(json.load(sys.stdin), schema); print(\"valid\")'");
  EXPECT_EQ(result.out, "valid\n") << result.err;
}

TEST_F(CliTest, EnergyInTablesAndJson) {
  const JsonSchema schema(json::parse(read_text(kSchema)));
  const std::string trace = small_trace("energy.safetensors");
  const ProgramResult text = run_lacuna({"simulate", trace, "--energy", "--arch", "tensordash,scnn,ant"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("whole chip and DRAM"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("has no energy model"), std::string::npos);
  EXPECT_NE(text.out.find("range and search"), std::string::npos) << text.out;
  const ProgramResult result =
      run_lacuna({"simulate", trace, "--energy", "--layers", "--set", "memory=modelled", "--arch",
                  "dense,tensordash,scnn,ant", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(schema.violations(document), std::vector<std::string>{});
  for (const json& run : document["runs"]) {
    double sum = 0;
    for (const json& op : run["energy"]["operations"]) {
      double parts = 0;
      for (const auto& [name, joules] : op["machine"].items())
        parts += name == "total" ? 0 : joules.get<double>();
      EXPECT_NEAR(parts, op["machine"]["total"].get<double>(), 1e-12 * parts);
      sum += parts;
    }
    EXPECT_GT(sum, 0);
    EXPECT_NEAR(sum, run["energy"]["all"]["machine"]["total"].get<double>(), 1e-12 * sum);
  }
  // The dense machine saves nothing.
  EXPECT_EQ(document["runs"][0]["energy"]["all"]["chip_efficiency"], 1);
}

TEST_F(CliTest, EnergyInCsv) {
  const std::string trace = small_trace("energy.safetensors");
  const auto header = [](const ProgramResult& result) { return result.out.substr(0, result.out.find('\n')); };
  const ProgramResult with = run_lacuna({"simulate", trace, "--energy", "--arch", "dense,ant", "--csv", "-"});
  ASSERT_EQ(with.exit_code, 0) << with.err;
  EXPECT_TRUE(header(with).ends_with(",area_baseline_mm2_of_chip,area_machine_mm2_of_chip")) << header(with);
  EXPECT_NE(header(with).find(",energy_machine_cores_joules_per_batch,"), std::string::npos);
  EXPECT_NE(header(with).find(",energy_machine_range_search_joules_per_batch,"), std::string::npos);
  std::istringstream lines(with.out);
  for (std::string line; std::getline(lines, line);) {
    const auto commas = [](const std::string& text) { return std::ranges::count(text, ','); };
    EXPECT_EQ(commas(line), commas(header(with))) << line;
  }
  EXPECT_NE(with.out.find(",65nm-fp32,65,"), std::string::npos) << with.out;
  const ProgramResult without = run_lacuna({"simulate", trace, "--arch", "dense,ant", "--csv", "-"});
  EXPECT_EQ(header(without).find("energy"), std::string::npos) << header(without);
}

TEST_F(CliTest, EnergyTablesAreChecked) {
  const std::string trace = small_trace("energy.safetensors");
  expect_error(run_lacuna({"simulate", trace, "--node", "7"}), "add --energy");
  expect_error(run_lacuna({"simulate", trace, "--energy", "--node", "8"}), "no factors for 8 nm");
  expect_error(run_lacuna({"simulate", trace, "--energy", "--energy-table", "65nm-fp23"}),
               "did you mean '65nm-fp32'?");
  expect_error(run_lacuna({"simulate", trace, "--energy", "--energy-table", "65nm-bfloat16"}),
               "set arithmetic=bfloat16");
  std::string table = read_text(LACUNA_SOURCE_DIR "/configs/energy/65nm-fp32.yaml");
  table.replace(table.find("6.79199"), 7, "-6.7919");
  write_file(folder_.file("mine.yaml"), table);
  expect_error(run_lacuna({"simulate", trace, "--energy", "--energy-table", folder_.file("mine.yaml")}),
               "mine.yaml:12: 'mac.cycle.value' is negative");
  // A slip in a name would otherwise go unnoticed, or make a cost be missing.
  table.replace(table.find("-6.7919"), 7, "6.79199");
  std::string slip = table;
  slip.replace(slip.find("  zero_counter:"), 15, "  zero_countre:");
  write_file(folder_.file("slip.yaml"), slip);
  expect_error(run_lacuna({"simulate", trace, "--energy", "--energy-table", folder_.file("slip.yaml")}),
               "unknown part 'zero_countre'; did you mean 'zero_counter'?");
  // A table for the machines of tiles alone is good for them.
  table.resize(table.find("  # PEs of the SCNN-like"));
  write_file(folder_.file("tiles.yaml"), table);
  const auto with_tiles = [&](const std::string& arch) {
    return run_lacuna(
        {"simulate", trace, "--energy", "--energy-table", folder_.file("tiles.yaml"), "--arch", arch});
  };
  EXPECT_EQ(with_tiles("dense,tensordash").exit_code, 0);
  expect_error(with_tiles("dense,ant"), "ant: the energy table '65nm-fp32' has no cost 'multiplier.cycle'");
}

TEST_F(CliTest, AreaOfAMachine) {
  const ProgramResult text = run_lacuna({"arch", "area", "tensordash"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("1.0857x"), std::string::npos) << text.out;
  const ProgramResult result =
      run_lacuna({"arch", "area", "tensordash", "--set", "depth=2", "--node", "45", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json area = json::parse(result.out)["machines"][0];
  EXPECT_NEAR(area["area_mm2"]["a_muxes"].get<double>(), 1.73 * 5 / 8 * 0.66, 0.005);
  EXPECT_EQ(area["baseline"]["name"], "dense");
  EXPECT_FALSE(area["baseline"]["area_mm2"].contains("a_muxes"));
  const ProgramResult scnn = run_lacuna({"arch", "area", "scnn", "--json"});
  const ProgramResult ant = run_lacuna({"arch", "area", "ant-4096", "--json"});
  ASSERT_EQ(scnn.exit_code + ant.exit_code, 0) << scnn.err << ant.err;
  EXPECT_NEAR(json::parse(scnn.out)["machines"][0]["area_mm2"]["total"].get<double>(), 64 * 0.124, 1e-9);
  EXPECT_NEAR(json::parse(ant.out)["machines"][0]["area_mm2"]["range_search"].get<double>(), 256 * 0.0017,
              1e-9);
  EXPECT_EQ(json::parse(ant.out)["machines"][0]["node_nm"], 16);
  EXPECT_NE(run_lacuna({"arch", "area", "ant"}).out.find("whole chip                 8.045"),
            std::string::npos);
  // 16 PEs of 8 x 8: as many multipliers, a quarter of the RAMs; range and search 116/76 of the published.
  const json wide = json::parse(
      run_lacuna({"arch", "area", "ant", "--set", "n=8", "--json"}).out)["machines"][0]["area_mm2"];
  EXPECT_NEAR(wide["multipliers"].get<double>(), 64 * 0.008, 1e-9);
  EXPECT_NEAR(wide["operand_and_output_rams"].get<double>(), 16 * 0.031, 1e-9);
  EXPECT_NEAR(wide["range_search"].get<double>(), 16 * 0.0017 * 116 / 76, 1e-9);
  const json deep = json::parse(
      run_lacuna({"arch", "area", "ant", "--set", "k=64", "--json"}).out)["machines"][0]["area_mm2"];
  EXPECT_NEAR(deep["range_search"].get<double>(), 64 * 0.0017 * 124 / 76, 1e-9);
  expect_error(run_lacuna({"arch", "area", "scnn", "--node", "8"}), "no factors for 8 nm");
  expect_error(run_lacuna({"arch", "area", "scnn", "--energy-table", "65nm-fp32"}),
               "has no cost 'pe_multipliers.area'");
}

// A depthwise layer fills one of 16 lanes: most of the speedup has nothing to do with zeros.
TEST_F(CliTest, TheHeadlineIsAboutZeros) {
  const std::string trace = folder_.file("depthwise.safetensors");
  ASSERT_EQ(run_lacuna({"synth", "--layer",
                        "conv2d in=32 out=32 kernel=3 padding=1 input=14 groups=32 name=dw A=0.3 G=0.3", "-o",
                        trace})
                .exit_code,
            0);
  const json document =
      json::parse(run_lacuna({"simulate", trace, "--arch", "tensordash,scnn,dense", "--json", "-"}).out);
  const auto all = [&](int run, const char* name) {
    return document["runs"][run]["per_batch"]["all"][name].get<double>();
  };
  EXPECT_GT(all(0, "speedup"), 1.5);
  EXPECT_GT(all(0, "speedup_without_zeros"), 1.3);
  EXPECT_LT(all(0, "speedup_from_zeros"), 1.3);
  for (int run = 0; run < 3; ++run) {
    EXPECT_NEAR(all(run, "speedup"), all(run, "speedup_from_zeros") * all(run, "speedup_without_zeros"),
                1e-12);
  }
  EXPECT_EQ(all(2, "speedup_from_zeros"), 1);
  const ProgramResult text = run_lacuna({"simulate", trace});
  EXPECT_NE(text.out.find("from zeros"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("warning: tensordash: its speedup of "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("from zeros x without zeros = speedup"), std::string::npos) << text.out;
  // compare shows both as well.
  const std::string a = folder_.file("a.json"), b = folder_.file("b.json");
  ASSERT_EQ(run_lacuna({"simulate", trace, "--json", a}).exit_code, 0);
  ASSERT_EQ(run_lacuna({"simulate", trace, "--set", "depth=2", "--json", b}).exit_code, 0);
  const ProgramResult compared = run_lacuna({"compare", a, b});
  EXPECT_NE(compared.out.find("speedup from zeros"), std::string::npos) << compared.out;
  EXPECT_GT(json::parse(run_lacuna({"compare", a, b, "--json"})
                            .out)["runs"][0]["total"]["all"]["a"]["speedup_without_zeros"]
                .get<double>(),
            1.3);
}

// The operations of a timeline add up to the cycles that are printed; what a file holds does not depend on
// the number of threads.
TEST_F(CliTest, TimelineAddsUpToThePrintedCycles) {
  const std::string trace = small_trace("t.safetensors");
  const std::string one = folder_.file("one.json"), two = folder_.file("two.json"),
                    results = folder_.file("results.json");
  const auto run = [&](const std::string& file, const char* threads) {
    return run_lacuna({"simulate", trace, "--arch", "tensordash,ant", "--set", "memory=modelled", "--threads",
                       threads, "--timeline", file, "--json", results});
  };
  ASSERT_EQ(run(one, "1").exit_code, 0);
  ASSERT_EQ(run(two, "3").exit_code, 0);
  EXPECT_EQ(read_text(one), read_text(two));
  const json timeline = json::parse(read_text(one)), printed = json::parse(read_text(results));
  for (std::size_t i = 0; i < 2; ++i) {
    double sum = 0;
    for (const json& event : timeline["traceEvents"]) {
      if (event["pid"] == i + 1 && event["ph"] == "X" && event["args"].contains("mapping"))
        sum += event["args"]["cycles"].get<double>();
    }
    EXPECT_EQ(sum, printed["runs"][i]["per_batch"]["all"]["cycles"].get<double>()) << i;
  }
  const ProgramResult standard = run_lacuna({"simulate", trace, "--timeline", "-"});
  EXPECT_EQ(json::parse(standard.out)["otherData"]["runs"].size(), 2U) << standard.err;
  testing::expect_error(run_lacuna({"simulate", trace, "--timeline", trace}), "this is an input");
  testing::expect_error(run_lacuna({"simulate", trace, "--timeline", one, "--json", one}),
                        "another result goes to the same file");
  testing::expect_error(run_lacuna({"simulate", trace, "--timeline", ""}), "--timeline");
}

TEST_F(CliTest, RooflineAndMappingFitTheScreen) {
  const ProgramResult result = run_lacuna({"simulate", kAlexnet, "--arch", "tensordash,sparten,ant", "--set",
                                           "memory=modelled", "--roofline", "--mapping"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string tables = result.out.substr(result.out.find(", roofline on tensordash"));
  EXPECT_NE(tables.find("4,096 multipliers, 102.40 GB/s of DRAM: the roofs meet at 20.00 MACs/byte"),
            std::string::npos)
      << tables;
  EXPECT_NE(tables.find("mapping on ant"), std::string::npos);
  EXPECT_NE(tables.find("everywhere: "), std::string::npos);
  std::istringstream lines(tables);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

// Both simulators' formats, as they read them; a list with our time; cut where it is asked.
TEST_F(CliTest, DramTracesAreAsSimulatorsReadThem) {
  const std::string trace = small_trace("t.safetensors");
  const auto write = [&](const std::string& folder, const std::string& format, const char* most) {
    return run_lacuna({"simulate", trace, "--arch", "dense", "--dram-trace", folder_.file(folder),
                       "--dram-trace-format", format, "--dram-trace-requests", most});
  };
  ASSERT_EQ(write("r", "ramulator2", "1000000").exit_code, 0);
  ASSERT_EQ(write("d", "dramsim3", "5").exit_code, 0);
  std::istringstream list(read_text(folder_.file("r/operations.csv")));
  std::string line;
  std::getline(list, line);
  EXPECT_EQ(line, "file,layer,operation,requests,requests_written,bytes,cycles,nanoseconds");
  int operations = 0;
  while (std::getline(list, line)) {
    ++operations;
    const std::string file = line.substr(0, line.find(','));
    std::istringstream requests(read_text(folder_.file("r/" + file)));
    std::int64_t count = 0, writes = 0;
    for (std::string request; std::getline(requests, request); ++count) {
      ASSERT_TRUE(request.starts_with("LD 0x") || request.starts_with("ST 0x")) << request;
      writes += request.starts_with("ST") ? 1 : 0;
      ASSERT_EQ(std::stoll(request.substr(3), nullptr, 16) % 128, 0);
    }
    EXPECT_GT(writes, 0) << file;
    EXPECT_NE(line.find("," + std::to_string(count) + "," + std::to_string(count) + "," +
                        std::to_string(128 * count) + ","),
              std::string::npos)
        << line;
    std::istringstream cut(read_text(folder_.file("d/" + file)));
    std::int64_t kept = 0;
    for (std::string request; std::getline(cut, request); ++kept) {
      EXPECT_TRUE(request.starts_with("0x")) << request;
      EXPECT_TRUE(request.find(" READ ") != std::string::npos ||
                  request.find(" WRITE ") != std::string::npos);
    }
    EXPECT_EQ(kept, std::min<std::int64_t>(5, count));
  }
  EXPECT_GT(operations, 1);
  testing::expect_error(write("x", "ramulator", "5"), "did you mean 'ramulator2'?");
  testing::expect_error(
      run_lacuna({"simulate", trace, "--arch", "dense,ant", "--dram-trace", folder_.file("y")}),
      "one trace on one machine");
}

TEST_F(CliTest, AreaAndPowerInResults) {
  const std::string trace = small_trace("t.safetensors");
  const JsonSchema schema(json::parse(read_text(kSchema)));
  const json document = json::parse(
      run_lacuna({"simulate", trace, "--energy", "--arch", "dense,tensordash,scnn", "--json", "-"}).out);
  EXPECT_EQ(schema.violations(document), std::vector<std::string>{});
  const json area = json::parse(run_lacuna({"arch", "area", "tensordash", "scnn", "--json"}).out)["machines"];
  const json& tensordash = document["runs"][1];
  EXPECT_EQ(tensordash["area"]["machine"]["total"], area[0]["area_mm2"]["total"]);
  EXPECT_EQ(tensordash["area"]["baseline"]["compute"], area[0]["baseline"]["area_mm2"]["compute"]);
  EXPECT_EQ(tensordash["power"]["machine"]["peak_of_logic"], area[0]["peak_power_w"]["compute"]);
  EXPECT_EQ(document["runs"][2]["area"]["machine"]["total"], area[1]["area_mm2"]["total"]);
  EXPECT_TRUE(document["runs"][2]["area"]["baseline"].is_null());  // of another table
  // 500 MHz: energy over time.
  const double seconds = tensordash["per_batch"]["all"]["cycles"].get<double>() / 500e6;
  EXPECT_NEAR(tensordash["power"]["machine"]["average"].get<double>(),
              tensordash["energy"]["all"]["machine"]["total"].get<double>() / seconds, 1e-9);
  const ProgramResult text = run_lacuna({"simulate", trace, "--energy", "--arch", "dense,tensordash"});
  EXPECT_NE(text.out.find("area and power"), std::string::npos) << text.out;
  // An energy table without the areas of a machine is still good for its energy.
  const ProgramResult no_area =
      run_lacuna({"simulate", trace, "--energy", "--energy-table", "65nm-fp32", "--arch", "scnn"});
  EXPECT_EQ(no_area.exit_code, 0) << no_area.err;
  EXPECT_NE(no_area.out.find("no area of scnn: "), std::string::npos) << no_area.out;
}

// One machine for all: the same baseline cycles everywhere, so that speedups compare designs.
TEST_F(CliTest, FixedBaseline) {
  const std::string trace = small_trace("t.safetensors");
  const auto simulate = [&](std::vector<std::string> more) {
    std::vector<std::string> command{"simulate", trace, "--json", "-", "--arch", "tensordash,ant,dense"};
    command.insert(command.end(), more.begin(), more.end());
    return json::parse(run_lacuna(command).out)["runs"];
  };
  const json own = simulate({"--set", "tensordash.rows=8"});
  const json fixed = simulate({"--set", "tensordash.rows=8", "--baseline", "dense"});
  const json& dense = fixed[2]["per_batch"]["all"];
  for (const json& run : fixed) {
    EXPECT_EQ(run["per_batch"]["all"]["baseline_cycles"], dense["cycles"]) << run["arch"];
  }
  EXPECT_NE(own[0]["per_batch"]["all"]["baseline_cycles"], dense["cycles"]);
  EXPECT_EQ(fixed[0]["per_batch"]["all"]["cycles"], own[0]["per_batch"]["all"]["cycles"]);
  EXPECT_EQ(fixed[0]["per_batch"]["all"]["speedup_from_zeros"],
            own[0]["per_batch"]["all"]["speedup_from_zeros"]);
  EXPECT_EQ(fixed[1]["baseline"]["arch"], "dense");
  EXPECT_TRUE(fixed[2]["baseline"].is_null());
  // A file, and another machine's settings.
  const std::string file = folder_.file("reference.yaml");
  std::ofstream(file) << "arch: dense\nname: reference\ntiles: 1\n";
  const json by_file = simulate({"--baseline", file, "--energy"});
  EXPECT_EQ(by_file[2]["baseline"]["arch"], "reference");
  EXPECT_EQ(by_file[2]["baseline"]["config"]["tiles"], 1);
  EXPECT_GT(by_file[2]["per_batch"]["all"]["speedup"].get<double>(), 1);
  const json four = simulate({"--baseline", "dense", "--set", "baseline.tiles=4"});
  EXPECT_EQ(four[0]["baseline"]["config"]["tiles"], 4);
  EXPECT_EQ(four[0]["config"]["tiles"], 16);
  EXPECT_NE(run_lacuna({"simulate", trace, "--baseline", file}).out.find("all are compared with reference"),
            std::string::npos);
  expect_error(run_lacuna({"simulate", trace, "--baseline", "dens"}), "did you mean 'dense'?");
  // A machine named as a baseline waits for memory if all do, one from a file if that says so.
  const json waiting = simulate({"--baseline", "dense", "--set", "memory=modelled"});
  EXPECT_EQ(waiting[0]["baseline"]["config"]["memory"], "modelled");
  EXPECT_EQ(waiting[0]["per_batch"]["all"]["baseline_cycles"], waiting[2]["per_batch"]["all"]["cycles"]);
  const std::string clash = "it has memory=modelled, its baseline";
  expect_error(run_lacuna({"simulate", trace, "--baseline", file, "--set", "memory=modelled"}), clash);
  expect_error(run_lacuna({"simulate", trace, "--baseline", "dense", "--set", "memory=modelled", "--set",
                           "baseline.memory=ideal"}),
               clash);
  expect_error(run_lacuna({"simulate", trace, "--arch", "tensordash,sparten", "--baseline", "dense", "--set",
                           "sparten.memory=modelled"}),
               clash);
  expect_error(run_lacuna({"simulate", trace, "--set", "baseline.tiles=4"}),
               "'baseline' is not one of the machines given");
}

TEST_F(CliTest, CompareWithAFixedBaseline) {
  const std::string trace = small_trace("t.safetensors");
  const std::string a = folder_.file("a.json"), b = folder_.file("b.json"), one = folder_.file("one.json");
  ASSERT_EQ(run_lacuna({"simulate", trace, "--arch", "tensordash,dense", "--json", a}).exit_code, 0);
  ASSERT_EQ(run_lacuna({"simulate", trace, "--arch", "tensordash,dense", "--set", "tiles=4", "--json", b})
                .exit_code,
            0);
  ASSERT_EQ(run_lacuna({"simulate", trace, "--arch", "dense", "--set", "tiles=1", "--json", one}).exit_code,
            0);
  const auto speedups = [&](std::vector<std::string> more) {
    std::vector<std::string> command{"compare", a, b, "--json"};
    command.insert(command.end(), more.begin(), more.end());
    const json all = json::parse(run_lacuna(command).out)["runs"][0]["total"]["all"];
    return std::array{all["a"]["speedup"].get<double>(), all["b"]["speedup"].get<double>(),
                      all["b"]["cycles"].get<double>() / all["a"]["cycles"].get<double>()};
  };
  for (const std::string& baseline : {std::string("dense"), one}) {
    const auto [of_a, of_b, ratio] = speedups({"--baseline", baseline});
    EXPECT_NEAR(of_a / of_b, ratio, 1e-9) << baseline;
  }
  EXPECT_EQ(speedups({"--baseline", "dense"})[0], speedups({})[0]);
  EXPECT_NE(speedups({"--baseline", "dense"})[1], speedups({})[1]);
  expect_error(run_lacuna({"compare", a, b, "--baseline", "dens"}), "did you mean 'dense'?");
  expect_error(run_lacuna({"compare", a, b, "--baseline", a}), "the file holds several machines");
  const std::string modelled = folder_.file("m.json");
  ASSERT_EQ(run_lacuna({"simulate", trace, "--set", "memory=modelled", "--json", modelled}).exit_code, 0);
  expect_error(run_lacuna({"compare", modelled, modelled, "--baseline", one}), "one waits for memory");
  const std::string other = folder_.file("other.safetensors");
  ASSERT_EQ(run_lacuna({"synth", "--layer", "linear in=40 out=24 batch=8", "-o", other}).exit_code, 0);
  const std::string elsewhere = folder_.file("e.json");
  ASSERT_EQ(run_lacuna({"simulate", other, "--json", elsewhere}).exit_code, 0);
  expect_error(run_lacuna({"compare", elsewhere, elsewhere, "--baseline", one}), "was not simulated on");
}

TEST_F(CliTest, ManyMachinesInOneRankedTable) {
  const std::string trace = small_trace("t.safetensors");
  const std::string other = folder_.file("other.safetensors");
  ASSERT_EQ(run_lacuna({"synth", "--layer", "linear in=40 out=24 batch=8", "--model", "other", "-o", other})
                .exit_code,
            0);
  const std::string all = "dense,tensordash,cnvlutin,structured-2of4,sparten,scnn-4096,ant-4096";
  for (const char* by : {"time", "zeros", "energy", "area"}) {
    const ProgramResult result = run_lacuna({"simulate", trace, other, "--arch", all, "--rank", by});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_LT(std::ranges::count(result.out, '\n'), 50) << result.out;
    EXPECT_NE(result.out.find("7 machines on 2 models, 2 traces together, ranked by "), std::string::npos)
        << result.out;
  }
  expect_error(run_lacuna({"simulate", trace, "--rank", "tim"}), "did you mean 'time'?");
  expect_error(run_lacuna({"simulate", trace, "--rank", "area", "--layers"}), "a ranking has no layers");
  expect_error(run_lacuna({"simulate", trace, "--csv-per", "bach"}), "did you mean 'batch'?");
}

// Cycles and joules of a CSV are of one kind, and say which; names are unique whatever machines there are.
TEST_F(CliTest, CsvColumnsSayPerWhat) {
  const std::string trace = small_trace("t.safetensors");
  for (const auto& [basis, suffix] :
       {std::pair<std::string, std::string>{"batch", "_per_batch"}, {"recorded", "_as_recorded"}}) {
    const ProgramResult result =
        run_lacuna({"simulate", trace, "--energy", "--arch", "tensordash-gated,scnn,ant,sparten", "--csv-per",
                    basis, "--csv", "-"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::istringstream header(result.out.substr(0, result.out.find('\n')));
    std::vector<std::string> names;
    for (std::string name; std::getline(header, name, ',');) names.push_back(name);
    for (const std::string& name : names) {
      for (const char* unit : {"cycles", "joules", "macs", "counter_", "activity_", "bytes", "rows"}) {
        const bool ratio = name.ends_with("_per_cycle") || name.ends_with("_per_dram_byte");
        if (ratio || name.find(unit) == std::string::npos) continue;
        EXPECT_TRUE(name.ends_with(suffix)) << name;
      }
    }
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    EXPECT_NE(std::ranges::find(names, "counter_fill_cycles" + suffix), names.end());
  }
}

TEST_F(CliTest, AreasSideBySide) {
  write_file(folder_.file("mine.yaml"), "arch: tensordash\nname: mine\ntiles: 8\n");
  const ProgramResult text =
      run_lacuna({"arch", "area", "dense", "tensordash", "--config", folder_.file("mine.yaml")});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("mine: 8 tiles of 4 x 4 PEs"), std::string::npos) << text.out;
  const json areas = json::parse(run_lacuna({"arch", "area", "tensordash", "--config",
                                             folder_.file("mine.yaml"), "--set", "mine.depth=2", "--json"})
                                     .out)["machines"];
  ASSERT_EQ(areas.size(), 2u);
  EXPECT_EQ(areas[1]["name"], "mine");
  EXPECT_NEAR(areas[0]["area_mm2"]["cores"].get<double>() / 2, areas[1]["area_mm2"]["cores"].get<double>(),
              1e-9);
  EXPECT_NE(run_lacuna({"arch", "area", "dense", "scnn"}).out.find("areas of different nodes do not compare"),
            std::string::npos);
  expect_error(run_lacuna({"arch", "area"}), "no machine is named");
  expect_error(run_lacuna({"arch", "area", "dense", "dense"}), "two machines are called 'dense'");
  expect_error(run_lacuna({"arch", "area", "dense", "--config", "/nowhere/c.yaml"}), "/nowhere/c.yaml");
}

TEST_F(CliTest, HelpNamesEveryEnergyTable) {
  for (const auto& entry : std::filesystem::directory_iterator(LACUNA_SOURCE_DIR "/configs/energy")) {
    const std::string name = entry.path().stem().string();
    if (name == "node-scaling") continue;
    for (const auto& command :
         std::vector<std::vector<std::string>>{{"simulate", "--help"}, {"arch", "area", "--help"}}) {
      EXPECT_NE(run_lacuna(command).out.find(name), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace lacuna
