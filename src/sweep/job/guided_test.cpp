#include <fmt/format.h>
#include <set>

#include "base/testing.hpp"
#include "sweep/answers/answers.hpp"
#include "sweep/job/guided_sweep.hpp"

namespace lacuna::sweep {
namespace {

constexpr const char* kPlan = R"(
traces:
  - {{synthetic: one, layers: ['linear in=64 out=32 batch=4'], A: 0.6, G: 0.7, batch: 4}}
  - {{synthetic: two, layers: ['linear in=32 out=64 batch=4'], A: 0.3, G: 0.8, batch: 4}}
machines: [tensordash, cnvlutin]
parameters:
  rows: [1, 2, 4, 8]
  columns: [1, 2, 4, 8]
  tiles: [1, 2, 4]
  tensordash.depth: [2, 3]
conditions: [rows * columns <= 16]
strategy: {}
)";

Plan plan_with(const std::string& strategy) {
  return Plan::parse(fmt::format(fmt::runtime(kPlan), strategy), "plan.yaml");
}

GuidedProgress search_into(const std::filesystem::path& file, const std::string& strategy,
                           int stop_after = 1 << 30) {
  const Plan plan = plan_with(strategy);
  Sweep sweep(plan);
  Database database(file, this_program());
  database.add_parameters(plan.varied_parameters());
  const PlanSearch search = read_search(plan);
  int generations = 0;
  GuidedOptions options;
  options.run.threads = 2;
  options.run.stop = [&] { return generations >= stop_after; };
  options.generation = [&](const GuidedProgress&) { ++generations; };
  return run_guided(sweep, search, database, options);
}

// All points without their times.
std::set<std::string> points_in(const std::filesystem::path& file) {
  const Reader reader(file);
  Statement points = reader.prepare(
      "SELECT key, machine, parameters, trace, cycles, speedup, energy_joules, area_mm2 FROM points ORDER BY "
      "key");
  std::set<std::string> rows;
  while (points.step()) {
    std::string row;
    for (int i = 0; i < points.columns(); ++i) row += points.text(i) + "|";
    rows.insert(row);
  }
  return rows;
}

TEST(GuidedSweep, ResumedSearchesEndAsUndisturbedOnes) {
  const TemporaryFolder folder;
  for (const std::string strategy :
       {"{name: nsga2, population: 6, generations: 4, seed: 3, objectives: [speedup, area_mm2]}",
        "{name: successive-halving, points: 12, keep_one_in: 3, seed: 5, objectives: max:speedup / area_mm2}",
        "{name: random, points: 9, seed: 2}"}) {
    SCOPED_TRACE(strategy);
    const std::filesystem::path whole = folder / "whole.sqlite";
    const std::filesystem::path parts = folder / "parts.sqlite";
    for (const auto& file : {whole, parts}) std::filesystem::remove(file);
    const GuidedProgress at_once = search_into(whole, strategy);
    EXPECT_FALSE(at_once.computed.stopped);
    EXPECT_EQ(at_once.computed.progress.failed, 0U);
    EXPECT_GT(at_once.front, 0U);
    GuidedProgress resumed = search_into(parts, strategy, 1);
    for (int tries = 0; resumed.computed.stopped && tries < 3; ++tries)
      resumed = search_into(parts, strategy);
    EXPECT_FALSE(resumed.computed.stopped);
    EXPECT_EQ(points_in(parts), points_in(whole));
    EXPECT_EQ(resumed.front, at_once.front);
    // Once more: everything is there.
    const GuidedProgress again = search_into(whole, strategy);
    EXPECT_EQ(again.computed.progress.done, 0U);
    EXPECT_EQ(again.designs, at_once.designs);
  }
}

TEST(GuidedSweep, AsksOnlyForWhatThePlanAllows) {
  const TemporaryFolder folder;
  const GuidedProgress outcome = search_into(
      folder / "r.sqlite", "{name: nsga2, population: 8, generations: 3, subject_to: speedup > 1}");
  EXPECT_EQ(outcome.designs, 24U);
  const Results results = read_results(folder / "r.sqlite", {});
  EXPECT_EQ(results.designs.size(), 24U);
  for (const ResultDesign& design : results.designs) {
    EXPECT_LE(std::get<double>(design.setting("rows")) * std::get<double>(design.setting("columns")), 16);
  }
  // The front that the search reports is the front of the file.
  const Metric area("area_mm2", "x", results, false);
  const Metric seconds("seconds", "y", results, false), energy("energy_joules", "z", results, false);
  const RowGroup group = row_groups(results, "speedup > 1", false)[0];
  EXPECT_EQ(front_rows(group.rows, {&area, &seconds, &energy}).size(), outcome.front);
}

TEST(GuidedSweep, SuccessiveHalvingBeginsWithFewTraces) {
  const TemporaryFolder folder;
  const GuidedProgress outcome = search_into(
      folder / "r.sqlite", "{name: successive-halving, points: 10, keep_one_in: 5, rungs: [1, 2]}");
  EXPECT_EQ(outcome.computed.progress.done, 10U + 2U);  // two designs reach the second trace
}

TEST(GuidedSweep, Refusals) {
  const auto refused = [](const std::string& strategy) {
    return error_of([&] { read_search(plan_with(strategy)); });
  };
  EXPECT_NE(refused("{name: nsga3}").find("unknown strategy 'nsga3'; did you mean 'nsga2'?"),
            std::string::npos);
  EXPECT_NE(refused("{name: nsga2, populaton: 5}")
                .find("unknown key 'populaton' for nsga2; did you mean 'population'?"),
            std::string::npos);
  EXPECT_NE(refused("{name: random, population: 5}").find("unknown key 'population' for random"),
            std::string::npos);
  EXPECT_NE(refused("{name: nsga2, population: 1}").find("'1' is not a value for 'population'"),
            std::string::npos);
  EXPECT_NE(refused("{name: nsga2, population: 100000, generations: 100000}").find("points"),
            std::string::npos);
  EXPECT_NE(refused("{name: nsga2, objectives: [speedpu]}").find("did you mean 'speedup'?"),
            std::string::npos);
  EXPECT_NE(refused("{name: nsga2, subject_to: 'watt < 3'}").find("did you mean 'watts'?"),
            std::string::npos);
  EXPECT_NE(refused("{name: successive-halving, rungs: [2, 1]}").find("growing numbers"), std::string::npos);
  EXPECT_NE(refused("{name: successive-halving, rungs: [1, 3]}").find("the plan has 2"), std::string::npos);
  const TemporaryFolder folder;
  EXPECT_NE(error_of([&] {
              const Plan plan = Plan::parse(
                  "traces: [{synthetic: t, layers: ['linear in=4 out=4']}]\nparameters: {rows: [1, 2]}\n"
                  "limits: [area_mm2 < 0.001]\nstrategy: random\n",
                  "plan.yaml");
              Sweep sweep(plan);
              Database database(folder / "r.sqlite", this_program());
              run_guided(sweep, read_search(plan), database, {});
            }).find("no design that the conditions and limits allow"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna::sweep
