#include "sweep/answers/answers.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "base/testing.hpp"
#include "sweep/testing/records.hpp"

namespace lacuna::sweep {
namespace {

// A design of a small table: parameters, area, and cycles on two networks (of 1000 without
// skipping).
struct HandMade {
  int rows, columns;
  double area;
  double cycles[2];
};
constexpr HandMade kTable[] = {
    {1, 1, 10, {800, 400}}, {1, 2, 20, {400, 400}}, {2, 1, 20, {500, 250}}, {2, 2, 40, {250, 250}}};

TraceRecord network_record(const std::string& name) {
  TraceRecord trace = test_trace(0);
  trace.sha256 = name;
  trace.name = fmt::format("{}_p100", name);
  trace.network = name;
  return trace;
}

DesignRecord design_record(const std::string& key, const std::string& machine, const std::string& parameters,
                           const std::string& configuration, double area) {
  DesignRecord design = test_design(0);
  design.key = key;
  design.machine = machine;
  design.configuration = configuration;
  design.parameters = parameters;
  design.area_mm2 = area;
  return design;
}

PointRecord point_record(const std::string& design, const std::string& network, double cycles) {
  PointRecord point = test_point(0, 0);
  point.key = fmt::format("{} on {}", design, network);
  point.design = design;
  point.trace = network;
  set_cycles(point, cycles, 1000);
  set_energy(point, cycles / 100, 10);
  return point;
}

// Few transactions: each one waits for the disk.
struct Records {
  std::vector<TraceRecord> traces = {};
  std::vector<DesignRecord> designs = {};
  std::vector<PointRecord> points = {};

  void store(Database& database) const {
    if (!traces.empty()) database.add_traces(traces);
    database.add_designs(designs);
    database.add(points);
  }
};

struct HandMadeFile {
  HandMadeFile() {
    Database database(folder / "r.sqlite", test_program());
    database.add_parameters({"rows", "columns"});
    Records records{.traces = {network_record("alexnet"), network_record("vgg16")}};
    for (const HandMade& one : kTable) {
      const std::string key = fmt::format("r{}c{}", one.rows, one.columns);
      records.designs.push_back(design_record(
          key, "tensordash", fmt::format("rows={} columns={}", one.rows, one.columns),
          fmt::format(R"({{"rows": {}, "columns": {}, "gated": true}})", one.rows, one.columns), one.area));
      records.points.push_back(point_record(key, "alexnet", one.cycles[0]));
      records.points.push_back(point_record(key, "vgg16", one.cycles[1]));
    }
    records.store(database);
  }
  Results read(const ResultSelection& selection = {}) const {
    return read_results(folder / "r.sqlite", selection);
  }

  TemporaryFolder folder;
};

const Results& hand_made() {
  static const Results kResults = HandMadeFile().read();
  return kResults;
}

std::vector<std::string> names(const Results& results, const std::vector<ResultRow>& rows) {
  std::vector<std::string> all;
  for (const ResultRow& row : rows) all.push_back(results.designs[row.design].parameters);
  return all;
}
using Names = std::vector<std::string>;

TEST(Answers, ReadsWhatViewsHold) {
  const Results& results = hand_made();
  EXPECT_EQ(results.networks, (Names{"alexnet", "vgg16"}));
  EXPECT_EQ(results.parameters, (Names{"columns", "rows"}));
  EXPECT_EQ(results.rows.size(), 8U);
  EXPECT_EQ(results.designs.size(), 4U);
  EXPECT_EQ(results.value(results.rows[0], "speedup"), Value(1.25));
  EXPECT_EQ(results.value(results.rows[0], "gated"), Value(true));
  EXPECT_EQ(results.value(results.rows[0], "network"), Value(std::string("alexnet")));
  EXPECT_EQ(results.value(results.rows[0], "lanes"), Value{});
  // Nobody measured it.
  EXPECT_EQ(results.metric("dram_bytes"), results.metrics.size());
}

TEST(Answers, BestOfAllNetworksAndOfEach) {
  const HandMadeFile file;
  const Results results = file.read();
  const Metric speedup("speedup", "--metric", results, false);
  EXPECT_TRUE(speedup.maximise());
  const RowGroup all = row_groups(results, "", false)[0];
  const std::vector<ResultRow> best = best_rows(all.rows, speedup, 2);
  EXPECT_EQ(names(results, best), (Names{"rows=2 columns=2", "rows=2 columns=1"}));
  EXPECT_NEAR(speedup.value(best[0]), 4, 1e-12);
  EXPECT_NEAR(speedup.value(best[1]), std::sqrt(2.0 * 4), 1e-12);  // the geometric mean of both networks

  // Ratios, limits and equal designs.
  const Metric density("max:speedup / area_mm2", "--metric", results, false);
  EXPECT_EQ(names(results, best_rows(all.rows, density, 1)), (Names{"rows=1 columns=1"}));
  const std::vector<RowGroup> small = row_groups(results, "area_mm2 < 40 and rows * columns > 1", true);
  ASSERT_EQ(small.size(), 2U);
  const Metric on_each("speedup", "--metric", results, true);
  EXPECT_EQ(names(results, best_rows(small[0].rows, on_each, 1)), (Names{"rows=1 columns=2"}));
  EXPECT_EQ(names(results, best_rows(small[1].rows, on_each, 9)),
            (Names{"rows=2 columns=1", "rows=1 columns=2"}));
  EXPECT_EQ(row_groups(results, "network = 'vgg16' and gated", true).size(), 1U);

  // One network alone.
  const Results vgg = file.read({.networks = {"vgg16"}, .program = {}});
  EXPECT_EQ(vgg.networks, Names{"vgg16"});
  EXPECT_EQ(row_groups(vgg, "", false)[0].network, "vgg16");
  EXPECT_EQ(row_groups(vgg, "", false)[0].rows.size(), 4U);
}

TEST(Answers, FrontOfTheTable) {
  const Results& results = hand_made();
  const Metric area("area_mm2", "--x", results, false);
  const Metric speedup("speedup", "--y", results, false);
  const RowGroup all = row_groups(results, "", false)[0];
  EXPECT_EQ(names(results, front_rows(all.rows, {&area, &speedup})),
            (Names{"rows=1 columns=1", "rows=2 columns=1", "rows=2 columns=2"}));
  // Turned round, the worst are best.
  const Metric worst("min:speedup", "--y", results, false);
  EXPECT_EQ(names(results, front_rows(all.rows, {&area, &worst})), (Names{"rows=1 columns=1"}));
}

// Against the definition, with values that are missing or infinite.
TEST(Answers, FrontEqualsBruteForceOnRandomSets) {
  Random random(5);
  for (std::uint64_t i = 0; i < random_cases(500); ++i) {
    Results results;
    results.metrics = {"speedup", "area_mm2"};
    results.networks = {"net"};
    std::vector<ResultRow> rows;
    const std::int64_t size = random.integer(1, 30);
    for (std::int64_t k = 0; k < size; ++k) {
      results.designs.push_back({k, "m", std::to_string(k), {}});
      ResultRow row{static_cast<std::size_t>(k), 0};
      for (int m = 0; m < 2; ++m) {
        row.metrics.push_back(random.chance(0.1)    ? std::nan("")
                              : random.chance(0.05) ? std::numeric_limits<double>::infinity()
                                                    : static_cast<double>(random.integer(0, 9)));
      }
      rows.push_back(row);
    }
    const Metric x("area_mm2", "x", results, true);
    const Metric y("speedup", "y", results, true);
    std::set<std::size_t> expected;
    for (const ResultRow& row : rows) {
      bool on_front = !std::isnan(row.metrics[0]) && !std::isnan(row.metrics[1]);
      for (const ResultRow& other : rows) {
        const bool no_worse = other.metrics[0] >= row.metrics[0] && other.metrics[1] <= row.metrics[1];
        const bool better = other.metrics[0] > row.metrics[0] || other.metrics[1] < row.metrics[1];
        on_front = on_front && !(no_worse && better);
      }
      if (on_front) expected.insert(row.design);
    }
    std::set<std::size_t> found;
    double last = -1;
    for (const ResultRow& row : front_rows(rows, {&x, &y})) {
      found.insert(row.design);
      EXPECT_GE(row.metrics[1], last);
      last = row.metrics[1];
    }
    ASSERT_EQ(found, expected) << "set " << i;
  }
}

// By hand: on alexnet cycles halve with columns and go down to 5/8 with rows; on vgg16 columns do nothing.
TEST(Answers, MainEffectsByHand) {
  const Results& results = hand_made();
  const Metric cycles("cycles", "--metric", results, true);
  const auto of = [&](const std::vector<ResultRow>& rows, const std::string& parameter) {
    for (const Effect& effect : main_effects(results, rows, cycles)) {
      if (effect.parameter == parameter) return effect;
    }
    return Effect{};
  };
  const std::vector<RowGroup> networks = row_groups(results, "", true);
  const Effect columns = of(networks[0].rows, "columns");
  EXPECT_NEAR(columns.ratio, 2, 1e-12);
  EXPECT_NEAR(columns.levels[0].relative, std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(columns.levels[1].relative, std::sqrt(0.5), 1e-12);
  EXPECT_EQ(columns.levels[columns.best].value, Value(2.0));
  EXPECT_EQ(columns.levels[columns.worst].value, Value(1.0));
  const Effect rows = of(networks[0].rows, "rows");
  EXPECT_NEAR(rows.ratio, 1.6, 1e-12);
  // Without interaction the shares add up to one: squares of the logarithms of 2 and of 1.6.
  const double squares[] = {std::log(2.0) * std::log(2.0), std::log(1.6) * std::log(1.6)};
  EXPECT_NEAR(columns.share, squares[0] / (squares[0] + squares[1]), 1e-12);
  EXPECT_NEAR(columns.share + rows.share, 1, 1e-12);
  EXPECT_NEAR(of(networks[1].rows, "columns").ratio, 1, 1e-12);
  EXPECT_NEAR(of(networks[1].rows, "columns").share, 0, 1e-12);
  EXPECT_NEAR(of(networks[1].rows, "rows").share, 1, 1e-12);
  // Both networks: the mean of the logarithms, each relative to its own network.
  EXPECT_NEAR(of(results.rows, "columns").ratio, std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(of(results.rows, "rows").ratio, 1.6, 1e-12);
  EXPECT_EQ(of(results.rows, "rows").levels[0].rows, 4U);
  // The larger effect comes first.
  EXPECT_EQ(main_effects(results, results.rows, cycles)[0].parameter, "rows");
}

// A machine that lacks a parameter, is faster, and has one size only moves neither effect.
TEST(Answers, EffectsAreWithinAMachine) {
  const HandMadeFile file;
  const auto rows_effect = [&] {
    const Results results = file.read();
    const Metric cycles("cycles", "--metric", results, true);
    for (const Effect& effect : main_effects(results, results.rows, cycles)) {
      if (effect.parameter == "rows") return effect.ratio;
    }
    return 0.0;
  };
  const double before = rows_effect();
  {
    Database database(file.folder / "r.sqlite", test_program());
    Records{.designs = {design_record("fast", "ant", "", R"({"pes": 64, "rows": 2})", 90)},
            .points = {point_record("fast", "alexnet", 10), point_record("fast", "vgg16", 10)}}
        .store(database);
  }
  EXPECT_NEAR(rows_effect(), before, 0.3);  // one more row at rows = 2, at its own machine's mean
  const Results results = file.read();
  EXPECT_EQ(results.parameters[0], "machine");
  const Metric cycles("cycles", "--metric", results, true);
  EXPECT_EQ(main_effects(results, results.rows, cycles)[0].parameter, "machine");
}

TEST(Answers, Differences) {
  const Results& results = hand_made();
  const DesignDiff diff = diff_designs(results, find_design(results, "1"), find_design(results, "4"));
  ASSERT_EQ(diff.settings.size(), 2U);
  EXPECT_EQ(diff.settings[0].name, "columns");
  EXPECT_EQ(diff.settings[1].b, Value(2.0));
  const auto found = std::ranges::find(diff.metrics, "cycles", &MetricDifference::metric);
  EXPECT_EQ(found->network, "alexnet");
  EXPECT_EQ(found->a, 800);
  EXPECT_EQ(found->ratio, 250.0 / 800);
  EXPECT_NE(diff_text(diff, {}).find("columns"), std::string::npos);
  EXPECT_NE(diff_text(diff_designs(results, *diff.a, *diff.a), {}).find("All settings are equal."),
            std::string::npos);
  for (const char* wrong : {"99", "0", "'; DROP TABLE designs; --", ""}) {
    EXPECT_NE(error_of([&] { find_design(results, wrong); }).find("there is no design"), std::string::npos);
  }
}

TEST(Answers, UnfinishedAndOtherProgramsAreLeftOut) {
  const HandMadeFile file;
  {
    Database database(file.folder / "r.sqlite", test_program());
    // On one of two networks only.
    Records{.designs = {design_record("half", "tensordash", "rows=9", R"({"rows": 9, "columns": 1})", 5)},
            .points = {point_record("half", "alexnet", 1)}}
        .store(database);
  }
  {
    Database other(file.folder / "r.sqlite", {"0.2.0", 1, ""});
    Records{.designs = {design_record("later", "tensordash", "rows=7", R"({"rows": 7, "columns": 1})", 5)},
            .points = {point_record("later", "vgg16", 1)}}
        .store(other);
  }
  const Results latest = file.read();
  EXPECT_EQ(latest.program, "0.2.0/1");
  EXPECT_EQ(latest.designs.size(), 1U);
  EXPECT_EQ(latest.other_programs, Names{"0.1.0/1"});
  EXPECT_NE(remarks_text(latest).find("also holds some of 0.1.0/1"), std::string::npos);
  EXPECT_EQ(remarks_text(latest, row_groups(latest, "", false)).find("wait for memory"), std::string::npos);
  const Results first = file.read({.networks = {}, .program = "0.1.0/1"});
  EXPECT_EQ(first.designs.size(), 5U);
  EXPECT_EQ(over_all_networks(first).size(), 4U);
  EXPECT_NE(
      error_of([&] { file.read({.networks = {}, .program = "9.9"}); }).find("no results of program '9.9'"),
      std::string::npos);
  EXPECT_NE(error_of([&] { file.read({.networks = {"vgg"}, .program = {}}); }).find("did you mean 'vgg16'?"),
            std::string::npos);
  // A second trace of a network: designs that have but one of them do not count.
  {
    Database database(file.folder / "r.sqlite", {"0.2.0", 1, ""});
    TraceRecord trace = test_trace(0);
    trace.sha256 = "vgg16 early";
    trace.network = "vgg16";
    database.add_traces(std::array{trace});
    Records{.designs = {design_record("both", "tensordash", "rows=8", R"({"rows": 8, "columns": 1})", 5)},
            .points = {point_record("both", "vgg16", 100), point_record("both", "vgg16 early", 100)}}
        .store(database);
  }
  const Results two = file.read();
  EXPECT_EQ(two.left_out, 1U);
  EXPECT_EQ(names(two, two.rows), Names{"rows=8"});
}

TEST(Answers, EmptyFilesAndConditions) {
  const TemporaryFolder folder;
  EXPECT_NE(error_of([&] { read_results(folder / "none.sqlite", {}); }).find("there is no such file"),
            std::string::npos);
  { const Database database(folder / "empty.sqlite", test_program()); }
  EXPECT_NE(error_of([&] { read_results(folder / "empty.sqlite", {}); }).find("it has no results yet"),
            std::string::npos);
  const Results& results = hand_made();
  EXPECT_EQ(error_of([&] { row_groups(results, "area_mm2 < 1", false); }),
            "--where: none of the 4 rows meets 'area_mm2 < 1'; loosen the condition");
  EXPECT_NE(error_of([&] { row_groups(results, "aera_mm2 < 1", false); }).find("did you mean 'area_mm2'?"),
            std::string::npos);
  EXPECT_NE(error_of([&] { row_groups(results, "network = 'vgg16'", false); }).find("--per-network"),
            std::string::npos);
  EXPECT_NE(error_of([&] { row_groups(results, "1=1; DROP TABLE results", false); }).find("means nothing"),
            std::string::npos);
}

// Names that are SQL, markup or escapes come back as they are and break nothing.
TEST(Answers, HostileNames) {
  const std::string hostile = "x'); DROP TABLE results; --</script><b>\x1b[31m\n\"";
  const TemporaryFolder folder;
  {
    Database database(folder / "r.sqlite", test_program());
    database.add_parameters({"rows", "a\"b", "x'); DROP TABLE results; --"});
    Records records{.traces = {network_record(hostile)}};
    for (int i = 0; i < 3; ++i) {
      const std::string key = fmt::format("d{}", i);
      records.designs.push_back(design_record(
          key, hostile, hostile, nlohmann::json{{"rows", i}, {hostile, hostile}}.dump(), 10 + i));
      records.points.push_back(point_record(key, hostile, 100 - i));
    }
    records.store(database);
  }
  const Results results = read_results(folder / "r.sqlite", {.networks = {hostile}, .program = {}});
  EXPECT_EQ(results.networks[0], hostile);
  const Metric x("area_mm2", "--x", results, false);
  const Metric y("speedup", "--y", results, false);
  const RowGroup group = row_groups(results, "", false)[0];
  const std::vector<ResultRow> front = front_rows(group.rows, {&x, &y});
  EXPECT_EQ(front.size(), 3U);
  const std::vector<RowGroup> chosen = {{group.network, front, group.of}};
  const std::string text = chosen_text(results, chosen, {&x, &y}, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(chosen_json(results, chosen, {&x, &y}, "front"));
  EXPECT_EQ(json["front"][0]["network"], hostile);
  EXPECT_EQ(json["front"][0]["settings"][hostile], hostile);
  const Scatter scatter = make_scatter(results, group, front, x, y);
  EXPECT_EQ(scatter_text(scatter, {}).find('\x1b'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(page_json(results, "", x, y))["designs"][0][1], hostile);
  const std::string condition = "machine = \"x'); DROP TABLE results; --\"";
  EXPECT_NE(error_of([&] { row_groups(results, condition, false); }).find("none of the 3 rows"),
            std::string::npos);
}

TEST(Answers, MissingNumbers) {
  const TemporaryFolder folder;
  {
    Database database(folder / "r.sqlite", test_program());
    database.add_parameters({"rows"});
    Records records{.traces = {network_record("a"), network_record("b")}};
    for (int i = 0; i < 2; ++i) {
      const std::string key = fmt::format("d{}", i);
      DesignRecord design = test_design(i);
      design.key = key;
      design.area_mm2 = i == 0 ? std::optional<double>() : 7;
      records.designs.push_back(design);
      records.points.push_back(point_record(key, "a", i == 0 ? 0 : 100));  // no cycles: no speedup
      records.points.push_back(point_record(key, "b", 100));
    }
    records.store(database);
  }
  const Results results = read_results(folder / "r.sqlite", {});
  const Metric speedup("speedup", "--metric", results, false);
  const Metric area("area_mm2", "--x", results, false);
  const RowGroup group = row_groups(results, "", false)[0];
  EXPECT_EQ(group.rows.size(), 2U);
  EXPECT_EQ(best_rows(group.rows, speedup, 9).size(), 1U);
  EXPECT_EQ(front_rows(group.rows, {&area, &speedup}).size(), 1U);
  EXPECT_EQ(row_groups(results, "area_mm2 > 0", false)[0].rows.size(), 1U);
  const std::vector<RowGroup> chosen = {{"", group.rows, 2}};
  EXPECT_NE(chosen_text(results, chosen, {&speedup}, {}).find(" - "), std::string::npos);
  EXPECT_TRUE(
      nlohmann::json::parse(chosen_json(results, chosen, {&speedup}, "best"))["best"][0]["asked"]["speedup"]
          .is_null());
  EXPECT_TRUE(main_effects(results, results.rows, Metric("speedup * 0", "m", results, true)).empty());
}

TEST(Answers, AxesAreRound) {
  const auto ends = [](const std::vector<double>& values) {
    const Axis axis = nice_axis(values, 5);
    return std::pair(axis.low, axis.high);
  };
  EXPECT_EQ(ends({7, 97}), std::pair(0.0, 100.0));
  EXPECT_EQ(ends({1, 97}), std::pair(1.0, 100.0));  // logarithmic
  EXPECT_TRUE(nice_axis({3, 4000}, 8).logarithmic);
  EXPECT_EQ(nice_axis({3, 4000}, 8).ticks,
            (std::vector<double>{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}));
  EXPECT_EQ(nice_axis({1e-9, 1}, 5).ticks, (std::vector<double>{1e-9, 1e-7, 1e-5, 1e-3, 0.1}));
  EXPECT_FALSE(nice_axis({0, 4000}, 8).logarithmic);
  EXPECT_EQ(ends({41, 58}), std::pair(40.0, 60.0));
  EXPECT_LT(ends({3, 3}).first, 3);
  EXPECT_GT(ends({3, 3}).second, 3);
  EXPECT_LT(ends({0, 0}).first, ends({0, 0}).second);
  EXPECT_EQ(tick_text(0), "0");
  EXPECT_EQ(tick_text(12.5), "12.5");
  EXPECT_EQ(tick_text(2500000), "2.5M");
  EXPECT_EQ(tick_text(0.005), "0.005");
  EXPECT_EQ(tick_text(3e-7), "300n");
}

}  // namespace
}  // namespace lacuna::sweep
