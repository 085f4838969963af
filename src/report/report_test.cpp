#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <sstream>

#include "base/error.hpp"
#include "base/text/json.hpp"
#include "base/text/text_table.hpp"
#include "report/compare/ranking.hpp"
#include "report/result/result_csv.hpp"
#include "report/result/result_json.hpp"
#include "report/result/result_tables.hpp"
#include "report/testing/example_runs.hpp"

namespace lacuna {
namespace {

using testing::example_run;

TEST(Json, Numbers) {
  EXPECT_EQ(number_json(2).dump(), "2");
  EXPECT_EQ(number_json(-0.5).dump(), "-0.5");
  EXPECT_EQ(number_json(0.1).dump(), "0.1");
  EXPECT_EQ(number_json(9007199254740991.0).dump(), "9007199254740991");
  EXPECT_EQ(number_json(1e300).dump(), "1e+300");
  EXPECT_EQ(number_json(1.0 / 0.0).dump(), "null");
  EXPECT_EQ(number_json(0.0 / 0.0).dump(), "null");
}

TEST(Json, StringsAreEscapedAndAlwaysUtf8) {
  EXPECT_EQ(dump_json("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\n\\u0001\"\n");
  EXPECT_EQ(dump_json("\xff"), "\"\xef\xbf\xbd\"\n");
}

TEST(ResultJson, IsWhatTheSchemaSays) {
  const std::string text = results_to_json({{example_run("m", "fast-machine", 0.5)}});
  EXPECT_EQ(text, R"({
 "schema": 2,
 "lacuna": "0.1.0",
 "runs": [
  {
   "trace": "m_p50.safetensors",
   "model": "m",
   "dataset": "d",
   "progress": 0.5,
   "accuracy": 0.75,
   "samples": 2,
   "batch": 64,
   "arch": "fast-machine",
   "base": "machine",
   "engine": "fast",
   "seed": 7,
   "config": {
    "rows": 4,
    "share": 0.25,
    "gating": false,
    "sync": "lockstep"
   },
   "baseline": {
    "arch": "dense",
    "config": {
     "rows": 4
    }
   },
   "layers": [
    {
     "name": "conv",
     "shape": "3x3 16->32 @8x8",
     "batch_scale": 32,
     "ops": [
      {
       "op": "forward",
       "scheduled": "A",
       "macs": 1000,
       "scheduled_macs": 600,
       "effectual_macs": 500,
       "baseline_cycles": 100,
       "cycles_without_zeros": 80,
       "cycles": 50,
       "speedup": 2,
       "speedup_from_zeros": 1.6,
       "speedup_without_zeros": 1.25,
       "macs_per_cycle": 20,
       "mapping": {
        "rows": "A",
        "steps": 36
       },
       "counters": {
        "steps": 3
       }
      },
      {
       "op": "weight_grad",
       "scheduled": "G",
       "macs": 1000,
       "scheduled_macs": 400,
       "effectual_macs": 300,
       "baseline_cycles": 100,
       "cycles_without_zeros": 100,
       "cycles": 40,
       "speedup": 2.5,
       "speedup_from_zeros": 2.5,
       "speedup_without_zeros": 1,
       "macs_per_cycle": 25
      }
     ]
    },
    {
     "name": "fc",
     "shape": "linear 8->4 x2",
     "batch_scale": 1.5,
     "ops": [
      {
       "op": "input_grad",
       "scheduled": "none",
       "macs": 64,
       "scheduled_macs": 0,
       "effectual_macs": 0,
       "baseline_cycles": 7,
       "cycles_without_zeros": 7,
       "cycles": 0,
       "speedup": null,
       "speedup_from_zeros": null,
       "speedup_without_zeros": 1
      }
     ]
    }
   ],
   "total": {
    "forward": {
     "baseline_cycles": 100,
     "cycles_without_zeros": 80,
     "cycles": 50,
     "speedup": 2,
     "speedup_from_zeros": 1.6,
     "speedup_without_zeros": 1.25
    },
    "input_grad": {
     "baseline_cycles": 7,
     "cycles_without_zeros": 7,
     "cycles": 0,
     "speedup": null,
     "speedup_from_zeros": null,
     "speedup_without_zeros": 1
    },
    "weight_grad": {
     "baseline_cycles": 100,
     "cycles_without_zeros": 100,
     "cycles": 40,
     "speedup": 2.5,
     "speedup_from_zeros": 2.5,
     "speedup_without_zeros": 1
    },
    "all": {
     "baseline_cycles": 207,
     "cycles_without_zeros": 187,
     "cycles": 90,
     "speedup": 2.3,
     "speedup_from_zeros": 2.077777777777778,
     "speedup_without_zeros": 1.106951871657754
    }
   },
   "per_batch": {
    "forward": {
     "baseline_cycles": 3200,
     "cycles_without_zeros": 2560,
     "cycles": 1600,
     "speedup": 2,
     "speedup_from_zeros": 1.6,
     "speedup_without_zeros": 1.25
    },
    "input_grad": {
     "baseline_cycles": 10.5,
     "cycles_without_zeros": 10.5,
     "cycles": 0,
     "speedup": null,
     "speedup_from_zeros": null,
     "speedup_without_zeros": 1
    },
    "weight_grad": {
     "baseline_cycles": 3200,
     "cycles_without_zeros": 3200,
     "cycles": 1280,
     "speedup": 2.5,
     "speedup_from_zeros": 2.5,
     "speedup_without_zeros": 1
    },
    "all": {
     "baseline_cycles": 6410.5,
     "cycles_without_zeros": 5770.5,
     "cycles": 2880,
     "speedup": 2.2258680555555554,
     "speedup_from_zeros": 2.003645833333333,
     "speedup_without_zeros": 1.1109089333679925
    }
   }
  }
 ]
}
)");
}

TEST(ResultJson, ReadsBackWhatItWrote) {
  const std::vector<RunResult> runs{example_run("m", "a", 0.5), example_run("n", "b", std::nullopt)};
  const ResultFile file = parse_results_json(results_to_json({runs}), "r.json");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(file.lacuna, "0.1.0");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(file.runs[i].trace, runs[i].trace);
    EXPECT_EQ(file.runs[i].info.progress, runs[i].info.progress);
    EXPECT_EQ(file.runs[i].seed, 7u);
    ASSERT_EQ(file.runs[i].layers.size(), 2u);
    for (std::size_t l = 0; l < 2; ++l) EXPECT_EQ(file.runs[i].layers[l].ops, runs[i].layers[l].ops);
    // Members of a JSON object have no order; those read are sorted.
    EXPECT_EQ(file.runs[i].config, (std::vector<ConfigValue>{{"gating", "off", ParamSpec::Kind::kFlag},
                                                             {"rows", "4", ParamSpec::Kind::kInteger},
                                                             {"share", "0.25", ParamSpec::Kind::kNumber},
                                                             {"sync", "lockstep", ParamSpec::Kind::kText}}));
  }
  EXPECT_EQ(results_to_json({parse_results_json(results_to_json({file.runs}), "r").runs}),
            results_to_json({file.runs}));
}

std::string reading_error(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "the test's text is not there";
  text.replace(at, from.size(), to);
  try {
    parse_results_json(text, "r.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ResultJson, AMachineThatIsItsOwnBaselineStaysSo) {
  RunResult run = example_run("m", "dense", 0.5);
  run.baseline = nullptr;
  const std::string text = results_to_json({{run}});
  EXPECT_NE(text.find("\"baseline\": null"), std::string::npos);
  const ResultFile file = parse_results_json(text, "r.json");
  EXPECT_EQ(file.runs[0].baseline, nullptr);
  EXPECT_EQ(file.runs[0].total().all.speedup(), 1);
}

TEST(ResultJson, RefusesWhatItDidNotWrite) {
  const std::string good = results_to_json({{example_run("m", "a", 0.5)}});
  EXPECT_EQ(reading_error(good, "\"schema\": 2", "\"schema\": 3"),
            "r.json: its schema is '3', this program reads 2; use the version of lacuna that wrote it, or "
            "write it again");
  EXPECT_EQ(reading_error(good, "\"schema\": 2,", ""),
            "r.json: it is not a result of lacuna: 'schema' is missing; write it again with 'lacuna "
            "simulate --json'");
  EXPECT_EQ(reading_error(good, "\"cycles\": 50,", "\"cycles\": 51,"),
            "r.json: run 1: 'total': 'forward': its cycles are not the sum of the layers'; write it again "
            "with 'lacuna "
            "simulate --json'");
  EXPECT_EQ(reading_error(good, "\"macs\": 1000", "\"macs\": -1"),
            "r.json: run 1: layer 1: operation 1: 'macs' is negative; write it again with 'lacuna simulate "
            "--json'");
  EXPECT_NE(reading_error(good, "\"macs\": 1000", "\"macs\": 1.5"), "no error");
  EXPECT_NE(reading_error(good, "\"macs\": 1000", "\"macs\": 18446744073709551615"), "no error");
  EXPECT_NE(reading_error(good, "\"macs\": 1000", "\"macs\": \"1000\""), "no error");
  EXPECT_NE(reading_error(good, "\"op\": \"weight_grad\"", "\"op\": \"forward\""), "no error");
  EXPECT_NE(reading_error(good, "\"op\": \"forward\"", "\"op\": \"sideways\""), "no error");
  EXPECT_NE(reading_error(good, "\"name\": \"fc\"", "\"name\": \"conv\""), "no error");
  EXPECT_NE(reading_error(good, "\"seed\": 7", "\"seed\": -7"), "no error");
  EXPECT_NE(reading_error(good, "\"rows\": 4", "\"rows\": [4]"), "no error");
  EXPECT_NE(reading_error(good, "\"steps\": 3", "\"steps\": null"), "no error");
  EXPECT_NE(reading_error(good, "\"runs\": [", "\"runs\": {["), "no error");
  EXPECT_NE(reading_error(good, good, ""), "no error");
  EXPECT_NE(reading_error(good, good, "[]"), "no error");
  EXPECT_EQ(reading_error(good, "\"seed\": 7", "\"seed\": 7, \"later_field\": {\"x\": []}"), "no error");
}

TEST(ResultCsv, OneRowPerOperation) {
  RunResult run = example_run("a,b", "x", 0.5);
  run.layers[0].name = "say \"hi\"";
  run.layers[0].ops[0].counters.push_back({"gated", 1, true});
  EXPECT_EQ(
      results_to_csv({{run}}),
      "trace,model,progress,recorded_share,left_out,arch,engine,layer,shape,batch,batch_scale,op,scheduled,"
      "macs_per_batch,"
      "scheduled_macs_per_batch,effectual_macs_per_batch,baseline,baseline_cycles_per_batch,"
      "cycles_without_zeros_per_batch,cycles_per_batch,speedup,speedup_from_zeros,speedup_without_zeros,"
      "utilisation,macs_per_cycle,macs_per_dram_byte,dram_bytes_per_cycle,mapping,"
      "counter_steps_per_batch,counter_gated_per_batch\n"
      "\"a,b_p50.safetensors\",\"a,b\",0.5,1,0,x,fast,\"say \"\"hi\"\"\",3x3 16->32 "
      "@8x8,64,32,forward,A,32000,19200,16000,dense,3200,2560,1600,2,1.6,1.25,,20,,,rows=A steps=36,96,1\n"
      "\"a,b_p50.safetensors\",\"a,b\",0.5,1,0,x,fast,\"say \"\"hi\"\"\",3x3 16->32 "
      "@8x8,64,32,weight_grad,G,32000,12800,9600,dense,3200,3200,1280,2.5,2.5,1,,25,,,,,\n"
      "\"a,b_p50.safetensors\",\"a,b\",0.5,1,0,x,fast,fc,linear 8->4 "
      "x2,64,1.5,input_grad,none,96,0,0,dense,10.5,10.5,0,,,1,,,,,,,\n");
  const std::string recorded = results_to_csv({{run}}, CsvBasis::kRecorded);
  EXPECT_NE(recorded.find(",macs_as_recorded,"), std::string::npos) << recorded;
  EXPECT_EQ(recorded.find("per_batch"), std::string::npos) << recorded;
  EXPECT_NE(recorded.find(
                ",64,32,forward,A,1000,600,500,dense,100,80,50,2,1.6,1.25,,20,,,rows=A steps=36,3,0.03125\n"),
            std::string::npos)
      << recorded;
}

// A machine is free in the names of its counters: one that is called as a count of the memory system is
// another column.
TEST(ResultCsv, NoNameOccursTwice) {
  RunResult run = example_run("m", "x", 0.5);
  run.layers[0].ops[0].counters = {{"fill_cycles", 5}, {"cycles", 6}, {"compute_cycles", 7}};
  run.layers[0].ops[0].activity =
      Activity{.compute_cycles = 40, .fill_cycles = 9, .samples = {}, .weights = {}};
  run.layers[0].ops[0].activity->weights.fill_rows = 11;
  const std::string csv = results_to_csv({{run}});
  std::istringstream header(csv.substr(0, csv.find('\n')));
  std::vector<std::string> names;
  for (std::string name; std::getline(header, name, ',');) names.push_back(name);
  const auto value = [&](const std::string& name) {
    const std::size_t first = csv.find('\n') + 1;
    std::istringstream row(csv.substr(first, csv.find('\n', first) - first));
    std::string cell;
    for (const std::string& at : names) {
      std::getline(row, cell, ',');
      if (at == name) return cell;
    }
    return std::string("no such column");
  };
  EXPECT_EQ(value("counter_fill_cycles_per_batch"), "160");  // 5 x 32
  EXPECT_EQ(value("activity_fill_cycles_per_batch"), "9");   // once per batch
  EXPECT_EQ(value("activity_compute_cycles_per_batch"), "1280");
  EXPECT_EQ(value("activity_weights_fill_rows_per_batch"), "11");
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(Counted, OneIsNotMany) {
  EXPECT_EQ(counted(0, "thread"), "0 threads");
  EXPECT_EQ(counted(1, "thread"), "1 thread");
  EXPECT_EQ(counted(1200, "step"), "1,200 steps");
}

TEST(TextTable, AlignsGroupsAndContinuesBelow) {
  TextTable table({{"name", Align::kLeft},
                   {"a", Align::kRight, "one"},
                   {"b", Align::kRight, "one"},
                   {"c", Align::kRight, "two"}});
  table.add_row({"x\x1b[1m", "1", "22", "333"});
  table.add_rule();
  table.add_row({"\xc3\xa9", "4", "5", "6"});
  EXPECT_EQ(table.render({}),
            "         one      two\n"
            "name     a   b      c\n"
            "-----    -  --    ---\n"
            "x?[1m    1  22    333\n"
            "-----    -  --    ---\n"
            "\xc3\xa9        4   5      6\n");
  EXPECT_EQ(table.render({.width = 20}),
            "         one\n"
            "name     a   b\n"
            "-----    -  --\n"
            "x?[1m    1  22\n"
            "-----    -  --\n"
            "\xc3\xa9        4   5\n"
            "\n"
            "         two\n"
            "name       c\n"
            "-----    ---\n"
            "x?[1m    333\n"
            "-----    ---\n"
            "\xc3\xa9          6\n");
}

TEST(TextBar, EighthsOfAColumn) {
  EXPECT_EQ(bar_text(2, 2, 4), "████");
  EXPECT_EQ(bar_text(1, 2, 4), "██");
  EXPECT_EQ(bar_text(1.125, 2, 4), "██▎");
  EXPECT_EQ(bar_text(9, 2, 4), "████");  // never longer
  EXPECT_EQ(bar_text(1e-9, 2, 4), "▏");  // something is not nothing
  EXPECT_EQ(bar_text(0, 2, 4), "");
  EXPECT_EQ(bar_text(-1, 2, 4), "");
  EXPECT_EQ(bar_text(std::nan(""), 2, 4), "");
  EXPECT_EQ(bar_text(1, 0, 4), "");
  EXPECT_EQ(display_width(bar_text(1, 3)), 4u);
  // In a table they keep the columns in line.
  TextTable table({{"name", Align::kLeft}, {"", Align::kLeft}, {"n"}});
  table.add_row({"a", bar_text(1, 1, 2), "1"});
  table.add_row({"b", bar_text(0.5, 1, 2), "2"});
  EXPECT_NE(table.render({}).find("a     ██  1\nb     █   2\n"), std::string::npos) << table.render({});
}

TEST(TextTable, ALongHeadingWidensItsColumns) {
  TextTable table({{"n", Align::kLeft}, {"a", Align::kRight, "a-long-name"}, {"b", Align::kRight, "z"}});
  table.add_row({"x", "1", "2"});
  EXPECT_EQ(table.render({}),
            "     a-long-name    z\n"
            "n              a    b\n"
            "-    -----------    -\n"
            "x              1    2\n");
}

TEST(TextTable, FoldsToTheWidth) {
  TextTable texts({{"machine", Align::kLeft}, {"number of lanes"}, {"what it does", Align::kLeft}});
  texts.add_row({"dense", "16", "multiplies whatever comes"});
  EXPECT_EQ(texts.render({.width = 38}),
            "         number\n"
            "             of\n"
            "machine   lanes  what it does\n"
            "-------  ------  ---------------------\n"
            "dense        16  multiplies whatever\n"
            "                 comes\n");
  // Numbers that do not fit continue below, behind the text that names the row.
  TextTable numbers({{"layer", Align::kLeft}, {"first"}, {"second"}, {"third"}});
  numbers.add_row({"conv1", "100", "200", "300"});
  EXPECT_EQ(numbers.render({.width = 20}),
            "layer  first  second\n"
            "-----  -----  ------\n"
            "conv1    100     200\n"
            "\n"
            "layer  third\n"
            "-----  -----\n"
            "conv1    300\n");
  EXPECT_EQ(wrapped_lines("a bb ccc", 4), (std::vector<std::string>{"a bb", "ccc"}));
  EXPECT_EQ(wrapped_lines("", 4), (std::vector<std::string>{""}));
}

TEST(TextTable, Digits) {
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(999), "999");
  EXPECT_EQ(grouped_digits(1000), "1,000");
  EXPECT_EQ(grouped_digits(-1234567), "-1,234,567");
  EXPECT_EQ(rounded_digits(1234.5678), "1,235");
  EXPECT_EQ(rounded_digits(2e19), "20,000,000,000,000,000,000");
  EXPECT_EQ(ratio_text(1, 0), "-");
  EXPECT_EQ(ratio_text(9, 4), "2.25");
  EXPECT_EQ(ratio_text(0.0042), "0.004");
  EXPECT_EQ(ratio_text(0.00042), "0.0004");
  EXPECT_EQ(ratio_text(0.0338), "0.034");
  EXPECT_EQ(ratio_text(0.1), "0.10");
  EXPECT_EQ(ratio_text(0), "0.00");
  EXPECT_EQ(ratio_text(0.0 / 0.0), "-");
}

TEST(ResultTables, SeveralTracesOfAModelAreSummedAndShownByProgress) {
  const std::vector<RunResult> runs{example_run("m", "x", 1.0), example_run("m", "y", 1.0),
                                    example_run("m", "x", 0.5), example_run("m", "y", 0.5),
                                    example_run("n", "x", std::nullopt)};
  const std::string text = result_tables(runs, false, {});
  EXPECT_NE(text.find("m, 2 traces together\n"), std::string::npos) << text;
  // Two machines do not fit next to each other.
  EXPECT_NE(text.find("forward                       6,400   3,200        1.60           1.25     2.00\n"),
            std::string::npos)
      << text;
  const std::size_t half = text.find("    50 %    75.0 %  m_p50.safetensors");
  const std::size_t whole = text.find("   100 %    75.0 %  m_p100.safetensors");
  ASSERT_NE(half, std::string::npos) << text;
  ASSERT_NE(whole, std::string::npos) << text;
  EXPECT_LT(half, whole);
  EXPECT_NE(text.find("Speedup from zeros of every model"), std::string::npos);
  EXPECT_NE(text.find("from zeros x without zeros = speedup"), std::string::npos);
  EXPECT_EQ(text.find("by layer"), std::string::npos);
  EXPECT_NE(result_tables(runs, true, {}).find("m on d, progress 50 %, accuracy 75.0 %, by layer"),
            std::string::npos);
}

// 207 / 187 = 1.107: 11 % of the speedup is not from zeros.
TEST(ResultTables, WarnWhereTheSpeedupIsNotFromZeros) {
  RunResult run = example_run("m", "x", 0.5);
  EXPECT_NE(result_tables({run}, false, {})
                .find("warning: x: its speedup of 2.23x includes 1.11x that it has without any zero (empty "
                      "lanes); zeros give 2.00x\n"),
            std::string::npos)
      << result_tables({run}, false, {});
  run.layers[0].ops[0].cycles_without_zeros = 96;
  EXPECT_EQ(result_tables({run}, false, {}).find("warning"), std::string::npos);
  run.baseline = nullptr;  // the dense machine itself: nothing to explain
  EXPECT_EQ(result_tables({run}, false, {}).find("from zeros x"), std::string::npos);
}

TEST(ResultTables, SayWhereSomeWaitForMemory) {
  std::vector<RunResult> runs{example_run("m", "x", 0.5), example_run("m", "y", 0.5)};
  runs[0].config.push_back({"memory", "modelled", ParamSpec::Kind::kText});
  EXPECT_EQ(result_tables(runs, false, {}).find("for memory"), std::string::npos);  // nobody knows about y
  runs[1].config.push_back({"memory", "ideal", ParamSpec::Kind::kText});
  for (const std::string& text : {result_tables(runs, false, {}), ranking_table(runs, {}, RankBy::kTime, {})})
    EXPECT_NE(text.find("warning: x waits for memory, y does not: their cycles do not compare"),
              std::string::npos)
        << text;
  runs[1].config.back().value = "modelled";
  EXPECT_EQ(result_tables(runs, false, {}).find("for memory"), std::string::npos);
}

RunEnergy energy_of(double joules, double mm2) {
  RunEnergy energy;
  energy.layers.push_back({"l", {}});
  energy.all.machine.values = {{"cores", "cores", ComponentGroup::kCore, joules}};
  energy.all.baseline.values = {{"cores", "cores", ComponentGroup::kCore, 2}};
  energy.all.chip_without_zeros = 1.25;
  energy.machine_seconds = energy.baseline_seconds = 0.5;
  if (mm2 > 0) energy.area = RunArea{"t", 65, {1, mm2, 0}, std::nullopt};
  return energy;
}

TEST(Ranking, TheBestMachineIsFirst) {
  std::vector<RunResult> runs{example_run("m", "slow", 0.5), example_run("m", "quick", 0.5),
                              example_run("m", "unknown", 0.5)};
  runs[0].layers[0].ops[0].cycles = 90;
  const std::vector<RunEnergy> energies{energy_of(0.25, 20), energy_of(1, 10), RunEnergy{}};
  const auto before = [](const std::string& text, const char* a, const char* b) {
    return text.find(a) != std::string::npos && text.find(b) != std::string::npos &&
           text.find(a) < text.find(b);
  };
  // Without a clock nobody knows how long a cycle is.
  EXPECT_NE(ranking_table(runs, {}, RankBy::kTime, {}).find("ranked by time of a batch"), std::string::npos);
  runs[0].config.push_back({"frequency_mhz", "1000", ParamSpec::Kind::kNumber});
  runs[1].config.push_back({"frequency_mhz", "500", ParamSpec::Kind::kNumber});
  const std::string time = ranking_table(runs, {}, RankBy::kTime, {});
  EXPECT_TRUE(before(time, "slow", "quick") && before(time, "quick", "unknown")) << time;
  const std::string speedup = ranking_table(runs, {}, RankBy::kZeros, {});
  EXPECT_TRUE(speedup.starts_with("3 machines on m, ranked by speedup from zeros\n")) << speedup;
  EXPECT_TRUE(before(speedup, "quick", "slow")) << speedup;
  EXPECT_EQ(speedup.find("mJ"), std::string::npos);
  const std::string energy = ranking_table(runs, energies, RankBy::kEnergy, {});
  EXPECT_TRUE(before(energy, "slow", "quick") && before(energy, "quick", "unknown")) << energy;
  EXPECT_NE(energy.find("250.000        5.00        8.00"), std::string::npos) << energy;
  const std::string area = ranking_table(runs, energies, RankBy::kArea, {});
  EXPECT_TRUE(before(area, "quick", "slow") && before(area, "slow", "unknown")) << area;
}

}  // namespace
}  // namespace lacuna
