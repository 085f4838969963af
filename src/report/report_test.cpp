#include <gtest/gtest.h>

#include "base/error.hpp"
#include "report/json_text.hpp"
#include "report/result_csv.hpp"
#include "report/result_json.hpp"
#include "report/result_tables.hpp"
#include "report/testing/example_runs.hpp"
#include "report/text_table.hpp"

namespace lacuna {
namespace {

using testing_support::example_run;

TEST(JsonText, Numbers) {
  EXPECT_EQ(json_number(2), "2");
  EXPECT_EQ(json_number(-0.5), "-0.5");
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(9007199254740991.0), "9007199254740991");
  EXPECT_EQ(json_number(1e300), "1e+300");
  EXPECT_EQ(json_number(1.0 / 0.0), "null");
  EXPECT_EQ(json_number(0.0 / 0.0), "null");
}

TEST(JsonText, StringsAreEscapedAndAlwaysUtf8) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\n\\u0001\"");
  EXPECT_EQ(json_string("\xff"), "\"\xef\xbf\xbd\"");
}

TEST(ResultJson, IsWhatTheSchemaSays) {
  const std::string text = results_to_json({example_run("m", "fast-machine", 0.5)});
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
      "config": {"rows": 4, "share": 0.25, "gating": false, "sync": "lockstep"},
      "baseline": {"arch": "dense", "config": {"rows": 4}},
      "layers": [
        {"name": "conv", "shape": "3x3 16->32 @8x8", "batch_scale": 32, "ops": [
          {"op": "forward", "scheduled": "A", "macs": 1000, "scheduled_macs": 600, "effectual_macs": 500, "baseline_cycles": 100, "cycles": 50, "padding_free_cycles": 80, "padding_free_speedup": 1.25, "counters": {"steps": 3}},
          {"op": "weight_grad", "scheduled": "G", "macs": 1000, "scheduled_macs": 400, "effectual_macs": 300, "baseline_cycles": 100, "cycles": 40, "padding_free_cycles": 40, "padding_free_speedup": 2.5}
        ]},
        {"name": "fc", "shape": "linear 8->4 x2", "batch_scale": 1.5, "ops": [
          {"op": "input_grad", "scheduled": "none", "macs": 64, "scheduled_macs": 0, "effectual_macs": 0, "baseline_cycles": 7, "cycles": 0, "padding_free_cycles": 0, "padding_free_speedup": null}
        ]}
      ],
      "total": {
        "forward": {"baseline_cycles": 100, "cycles": 50, "padding_free_cycles": 80},
        "input_grad": {"baseline_cycles": 7, "cycles": 0, "padding_free_cycles": 0},
        "weight_grad": {"baseline_cycles": 100, "cycles": 40, "padding_free_cycles": 40},
        "all": {"baseline_cycles": 207, "cycles": 90, "padding_free_cycles": 120}
      },
      "per_batch": {
        "forward": {"baseline_cycles": 3200, "cycles": 1600, "padding_free_cycles": 2560},
        "input_grad": {"baseline_cycles": 10.5, "cycles": 0, "padding_free_cycles": 0},
        "weight_grad": {"baseline_cycles": 3200, "cycles": 1280, "padding_free_cycles": 1280},
        "all": {"baseline_cycles": 6410.5, "cycles": 2880, "padding_free_cycles": 3840}
      }
    }
  ]
}
)");
}

TEST(ResultJson, ReadsBackWhatItWrote) {
  const std::vector<RunResult> runs{example_run("m", "a", 0.5), example_run("n", "b", std::nullopt)};
  const ResultFile file = parse_results_json(results_to_json(runs), "r.json");
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
  EXPECT_EQ(results_to_json(parse_results_json(results_to_json(file.runs), "r").runs),
            results_to_json(file.runs));
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

// Schema 1 calls the baseline "dense" and keeps what bounds it among the machine's own activity.
TEST(ResultJson, ReadsSchema1) {
  const ResultFile file = parse_results_json(
      R"({"schema": 1, "lacuna": "0.1.0", "runs": [{"trace": "t", "model": "m", "batch": 1, "arch": "a", "base": "b",
          "engine": "fast", "seed": 1, "config": {}, "layers": [{"name": "l", "shape": "s", "batch_scale": 1, "ops": [
            {"op": "forward", "scheduled": "A", "macs": 9, "scheduled_macs": 8, "effectual_macs": 7,
             "dense_cycles": 6, "cycles": 3, "padding_free_cycles": 4}]}],
          "total": {"forward": {"dense_cycles": 6, "cycles": 3}, "input_grad": {"dense_cycles": 0, "cycles": 0},
                    "weight_grad": {"dense_cycles": 0, "cycles": 0}, "all": {"dense_cycles": 6, "cycles": 3}}}]})",
      "old.json");
  EXPECT_EQ(file.runs[0].total().all.speedup(), 2);
  EXPECT_EQ(file.runs[0].baseline->arch, "dense");
}

TEST(ResultJson, AMachineThatIsItsOwnBaselineStaysSo) {
  RunResult run = example_run("m", "dense", 0.5);
  run.baseline = nullptr;
  const std::string text = results_to_json({run});
  EXPECT_NE(text.find("\"baseline\": null"), std::string::npos);
  const ResultFile file = parse_results_json(text, "r.json");
  EXPECT_EQ(file.runs[0].baseline, nullptr);
  EXPECT_EQ(file.runs[0].total().all.speedup(), 1);
}

TEST(ResultJson, RefusesWhatItDidNotWrite) {
  const std::string good = results_to_json({example_run("m", "a", 0.5)});
  EXPECT_EQ(
      reading_error(good, "\"schema\": 2", "\"schema\": 3"),
      "r.json: its schema is '3', this program reads 1 to 2; use the version of lacuna that wrote it, or "
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
  EXPECT_EQ(
      results_to_csv({run}),
      "trace,model,progress,arch,engine,layer,shape,batch_scale,op,scheduled,macs,scheduled_macs,effectual_"
      "macs,"
      "baseline,baseline_cycles,cycles,speedup,padding_free_cycles,padding_free_speedup,steps\n"
      "\"a,b_p50.safetensors\",\"a,b\",0.5,x,fast,\"say \"\"hi\"\"\",3x3 16->32 "
      "@8x8,32,forward,A,1000,600,500,dense,100,50,2,80,1.25,3\n"
      "\"a,b_p50.safetensors\",\"a,b\",0.5,x,fast,\"say \"\"hi\"\"\",3x3 16->32 "
      "@8x8,32,weight_grad,G,1000,400,300,dense,100,40,2.5,40,2.5,\n"
      "\"a,b_p50.safetensors\",\"a,b\",0.5,x,fast,fc,linear 8->4 "
      "x2,1.5,input_grad,none,64,0,0,dense,7,0,,0,,\n");
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

TEST(TextTable, ALongHeadingWidensItsColumns) {
  TextTable table({{"n", Align::kLeft}, {"a", Align::kRight, "a-long-name"}, {"b", Align::kRight, "z"}});
  table.add_row({"x", "1", "2"});
  EXPECT_EQ(table.render({}),
            "     a-long-name    z\n"
            "n              a    b\n"
            "-    -----------    -\n"
            "x              1    2\n");
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
}

TEST(ResultTables, SeveralTracesOfAModelAreSummedAndShownByProgress) {
  const std::vector<RunResult> runs{example_run("m", "x", 1.0), example_run("m", "y", 1.0),
                                    example_run("m", "x", 0.5), example_run("m", "y", 0.5),
                                    example_run("n", "x", std::nullopt)};
  const std::string text = result_tables(runs, false, {});
  EXPECT_NE(text.find("m, 2 traces together\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("forward                         200     100     2.00        1.25                200     "
                "100     2.00        1.25\n"),
      std::string::npos)
      << text;
  const std::size_t half = text.find("    50 %    75.0 %  m_p50.safetensors");
  const std::size_t whole = text.find("   100 %    75.0 %  m_p100.safetensors");
  ASSERT_NE(half, std::string::npos) << text;
  ASSERT_NE(whole, std::string::npos) << text;
  EXPECT_LT(half, whole);
  EXPECT_NE(text.find("Speedup of every model"), std::string::npos);
  EXPECT_EQ(text.find("by layer"), std::string::npos);
  EXPECT_NE(result_tables(runs, true, {}).find("m on d, progress 50 %, accuracy 75.0 %, by layer"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna
