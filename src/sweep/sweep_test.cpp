// Whole sweeps: what is stored equals what `lacuna simulate` gives.
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/testing.hpp"
#include "energy/energy.hpp"
#include "report/result/result_json.hpp"
#include "sim/simulation.hpp"
#include "sweep/run/runner.hpp"
#include "sweep/store/database.hpp"
#include "trace/format/trace_writer.hpp"

namespace lacuna::sweep {
namespace {

constexpr std::string_view kPlan = R"(
traces:
  - {synthetic: first, layers: ['conv2d in=19 out=18 kernel=3 input=9x8 stride=2 padding=1', 'linear in=40 out=21 batch=3'], A: 0.6, batch: 12}
  - {synthetic: second, layers: ['conv2d in=16 out=12 kernel=1 input=5'], A: channel:0.5, W: 0.4}
machines: [tensordash, ant-4096, sparten]
parameters: {rows: [2, 4], columns: [2, 8], memory: [ideal, modelled], node: [65, 28]}
)";

// Against one machine all designs of a trace have the same baseline, and are other designs than without it.
constexpr std::string_view kBaselinePlan = R"(
traces: [{synthetic: first, layers: ['linear in=40 out=21 batch=3'], A: 0.6}]
machines: [tensordash, ant]
baseline: dense
parameters: {rows: [2, 4]}
)";

SweepOutcome run(const Plan& plan, const std::filesystem::path& file, int threads,
                 std::function<bool()> stop = {}) {
  Database database(file, this_program());
  std::vector<DesignRecord> listed;
  Sweep sweep(plan);
  const DesignList designs =
      list_designs(sweep.factory, [&](const DesignRecord& design) { listed.push_back(design); });
  database.add_designs(listed);
  database.add_parameters(plan.varied_parameters());
  const WorkList work =
      make_chunks(designs, sweep.sha256, sweep.bytes, database.stored(), plan.measures, threads);
  return run_chunks(sweep, work, database, {.threads = threads, .stop = std::move(stop), .report = {}});
}

// Everything but times and the numbers of rows.
std::string content(const std::filesystem::path& file) {
  const Reader reader(file);
  std::string text;
  for (const char* sql :
       {"SELECT r.key, d.key, t.sha256, measured, cycles, baseline_cycles, cycles_without_zeros, seconds, "
        "energy_joules, "
        "baseline_energy_joules, compute_energy_joules, dram_read_bytes, dram_write_bytes, compute_cycles "
        "FROM results r "
        "JOIN designs d ON d.id = r.design JOIN traces t ON t.id = r.trace ORDER BY r.key",
        "SELECT r.key, o.layer, o.operation, o.scheduled_macs, o.effectual_macs, o.cycles, "
        "o.baseline_cycles, "
        "o.cycles_without_zeros, o.energy_joules, o.bound, o.dram_bytes FROM operation_results o JOIN "
        "results r ON r.id = "
        "o.point ORDER BY 1, 2, 3",
        "SELECT key, machine, configuration, parameters, area_mm2 FROM designs ORDER BY key",
        "SELECT sha256, name, network FROM traces ORDER BY 1"}) {
    Statement rows = reader.prepare(sql);
    while (rows.step()) {
      for (int i = 0; i < rows.columns(); ++i) text += rows.text(i) + '|';
      text += '\n';
    }
  }
  EXPECT_EQ(reader.connection().text("PRAGMA integrity_check"), "ok");
  return text;
}

TEST(Sweep, StoresWhatSimulateGives) {
  const TemporaryFolder folder;
  const Plan plan = Plan::parse(kPlan, "p.yaml");
  const SweepOutcome outcome = run(plan, folder / "r.sqlite", 2);
  EXPECT_EQ(outcome.progress.failed, 0);
  EXPECT_EQ(outcome.progress.done, outcome.progress.all);
  const DesignSpace space(plan);
  DesignFactory factory(space);
  const Reader reader(folder / "r.sqlite");
  for (const DesignList::Entry& entry : list_designs(factory).entries) {
    const Design design = factory.make(entry.choice);
    for (const PlanTrace& planned : plan.traces) {
      const Trace trace = make_synthetic(*planned.synthetic);
      const std::vector<RunResult> runs{simulate_trace(trace, *design.machine, "m", SimOptions{}, 1)};
      const std::vector<RunEnergy> energies{
          run_energy(runs[0], energy_table("", space.node(entry.choice), *runs[0].hardware))};
      const auto json = nlohmann::json::parse(results_to_json({runs, energies}, true))["runs"][0];
      Statement row = reader.prepare(
          "SELECT cycles, baseline_cycles, speedup, speedup_from_zeros, energy_joules, energy_efficiency, "
          "point FROM points WHERE key = ?1");
      row.bind(point_key(entry.key, trace_sha256(planned)));
      ASSERT_TRUE(row.step());
      EXPECT_EQ(row.number(0), json["per_batch"]["all"]["cycles"]);
      EXPECT_EQ(row.number(1), json["per_batch"]["all"]["baseline_cycles"]);
      EXPECT_EQ(row.number(2), json["per_batch"]["all"]["speedup"]);
      EXPECT_EQ(row.number(3), json["per_batch"]["all"]["speedup_from_zeros"]);
      EXPECT_EQ(row.number(4), json["energy"]["all"]["machine"]["total"]);
      EXPECT_EQ(row.number(5), json["energy"]["all"]["chip_efficiency"]);
      Statement ops = reader.prepare(
          "SELECT o.cycles, o.energy_joules FROM operation_results o WHERE point = ?1 ORDER BY layer, "
          "operation");
      ops.bind(row.integer(6));
      std::size_t at = 0;
      for (const auto& layer : json["layers"]) {
        for (const auto& op : layer["ops"]) {
          ASSERT_TRUE(ops.step());
          EXPECT_EQ(ops.integer(0), op["cycles"]);
          EXPECT_EQ(ops.number(1), json["energy"]["operations"][at++]["machine"]["total"]);
        }
      }
    }
  }
}

TEST(Sweep, IsTheSameOnAnyNumberOfThreadsAndInPieces) {
  const TemporaryFolder folder;
  const Plan plan = Plan::parse(kPlan, "p.yaml");
  run(plan, folder / "one", 1);
  run(plan, folder / "four", 4);
  EXPECT_EQ(content(folder / "one"), content(folder / "four"));
  // Part of it, stopped at once, then the rest; nothing is computed twice.
  Plan part = Plan::parse(std::string(kPlan) + "conditions: [rows = 2]\n", "p.yaml");
  const SweepOutcome first = run(part, folder / "pieces", 2);
  EXPECT_GT(first.progress.done, 0);
  const SweepOutcome stopped = run(plan, folder / "pieces", 1, [] { return true; });
  const SweepOutcome rest = run(plan, folder / "pieces", 2);
  EXPECT_EQ(first.progress.done + stopped.progress.done + rest.progress.done,
            Reader(folder / "one").connection().integer("SELECT count(*) FROM results"));
  EXPECT_EQ(content(folder / "one"), content(folder / "pieces"));
  EXPECT_EQ(run(plan, folder / "pieces", 2).progress.all, 0);
}

TEST(Sweep, MeasuresMoreOfAPointWhenAsked) {
  const TemporaryFolder folder;
  const std::string plan = "traces: [{synthetic: one, layers: ['linear in=40 out=21']}]\n";
  run(Plan::parse(plan + "measure: cycles\n", "p.yaml"), folder / "r", 1);
  EXPECT_EQ(
      Reader(folder / "r").connection().integer("SELECT count(*) FROM points WHERE energy_joules IS NULL"),
      1);
  EXPECT_EQ(run(Plan::parse(plan + "measure: cycles\n", "p.yaml"), folder / "r", 1).progress.all, 0);
  EXPECT_EQ(run(Plan::parse(plan, "p.yaml"), folder / "r", 1).progress.done, 1);
  EXPECT_EQ(Reader(folder / "r").connection().integer("SELECT count(*) FROM points WHERE energy_joules > 0"),
            1);
  EXPECT_EQ(Reader(folder / "r").connection().integer("SELECT count(*) FROM points"), 1);
}

// A trace that cannot be read, and one that changes: the others are computed.
TEST(Sweep, FailuresDoNotStopTheRest) {
  const TemporaryFolder folder;
  std::ofstream(folder / "bad.safetensors") << "not a trace";
  std::ofstream(folder / "p.yaml") << "traces: [bad.safetensors, {synthetic: one, layers: ['linear in=40 "
                                      "out=21']}]\nparameters: {rows: [2, 4]}\n";
  const Plan plan = Plan::load((folder / "p.yaml").string());
  const SweepOutcome outcome = run(plan, folder / "r", 2);
  EXPECT_EQ(outcome.progress.done, 2);
  EXPECT_EQ(outcome.progress.failed, 2);
  EXPECT_EQ(Reader(folder / "r").connection().integer("SELECT count(*) FROM failures"), 2);
  const std::string csv = exported(export_csv, folder / "r", "points");
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
  EXPECT_EQ(nlohmann::json::parse(exported(export_json, folder / "r", "failures"))["rows"].size(), 2);
  EXPECT_NE(error_of([&] { exported(export_csv, folder / "r", "point"); }).find("did you mean 'points'?"),
            std::string::npos);
}

TEST(Sweep, NoticesATraceThatChanges) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name) {
    SyntheticSpec spec;
    spec.name = name;
    spec.layers = {{"l", LayerShape::linear(2, 20, 9), 1, ZeroSpec::uniform(0.5), ZeroSpec::dense(),
                    ZeroSpec::uniform(0.5)}};
    write_trace(make_synthetic(spec), folder / "t.safetensors");
  };
  write("a");
  std::ofstream(folder / "p.yaml") << "traces: t.safetensors\n";
  const Plan plan = Plan::load((folder / "p.yaml").string());
  Sweep sweep(plan);
  const LoadedTrace before(plan.traces[0], sweep.sha256[0]);
  write("bb");
  EXPECT_NE(error_of([&] { before.check_unchanged(); }).find("was changed while the sweep ran"),
            std::string::npos);
  ChunkRunner runner(sweep, {});
  const auto result = runner.run({0, {Choice{0, {}}}});
  ASSERT_EQ(result.failures.size(), 1);
  EXPECT_NE(result.failures[0].error.find("was changed while the sweep ran"), std::string::npos);
}

TEST(Sweep, ABaselineForAllDesigns) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "r.sqlite";
  std::string text(kBaselinePlan);
  EXPECT_EQ(run(Plan::parse(text, "plan.yaml"), file, 1).progress.done, 3U);
  const auto one = [&](const char* sql) {
    const Reader reader(file);
    Statement rows = reader.prepare(sql);
    rows.step();
    return rows.integer(0);
  };
  EXPECT_EQ(one("SELECT count(DISTINCT baseline_cycles) FROM results"), 1);
  EXPECT_EQ(one("SELECT count(DISTINCT baseline_configuration) FROM designs"), 1);
  // With separate baselines they are computed again.
  text.erase(text.find("baseline"), std::string("baseline: dense\n").size());
  EXPECT_EQ(run(Plan::parse(text, "plan.yaml"), file, 1).progress.done, 3U);
  EXPECT_GT(one("SELECT count(DISTINCT baseline_configuration) FROM designs"), 1);
}

}  // namespace
}  // namespace lacuna::sweep
