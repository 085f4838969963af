#include "sim/catalog/arch_catalog.hpp"

#include <ctime>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/io/output_file.hpp"
#include "base/testing.hpp"
#include "sim/catalog/arch_config.hpp"

namespace lacuna {
namespace {

class FakeMachine final : public Accelerator {
 public:
  explicit FakeMachine(Params params) : params_(std::move(params)) {
    if (params_.integer("rows") == 13)
      throw InputError(params_.owner(), "13 rows bring bad luck; everybody knows", "set rows=12; or 14");
  }
  const Params& params() const override { return params_; }
  using Accelerator::simulate;
  OpResult simulate(const OperationWork&, const SimOptions&) const override { return {}; }

 private:
  Params params_;
};

AcceleratorModel model(std::string name, std::vector<ParamSpec> params) {
  return {.name = std::move(name),
          .summary = "a machine",
          .paper = "none",
          .params = std::move(params),
          .make = [](Params p) -> std::unique_ptr<Accelerator> {
            return std::make_unique<FakeMachine>(std::move(p));
          }};
}

const EmbeddedFile kConfigs[] = {
    {"wide.yaml",
     "name: wide\nbase: grid\nsummary: eight rows\nparams:\n  rows: 8\n  links: [[0,0], [1, -1]]\n"},
    {"broken.yaml", "name: broken\nbase: wide\n"},
};

class ArchCatalogTest : public testing::Test {
 protected:
  ArchCatalogTest() {
    registry_.add(
        model("grid", {ParamSpec::integer("rows", 4, 1, 64, "PEs", "", ""),
                       ParamSpec::text("links", "none", "", ""), ParamSpec::flag("gating", false, "", "")}));
    registry_.add(model("line", {ParamSpec::integer("rows", 1, 1, 8, "PEs", "", ""),
                                 ParamSpec::number("clock", 1, 0, 9, "GHz", "", "")}));
  }
  std::string parse_error(std::string_view yaml) const {
    return error_of([&] { catalog_.parse(yaml, "my.yaml"); });
  }
  AcceleratorRegistry registry_;
  ArchCatalog catalog_{registry_, kConfigs};
};

TEST_F(ArchCatalogTest, ModelsAndNamedConfigurations) {
  EXPECT_EQ(catalog_.names(), (std::vector<std::string>{"grid", "line", "broken", "wide"}));
  EXPECT_EQ(catalog_.find("grid", "--arch").params.integer("rows"), 4);
  const Machine wide = catalog_.find("wide", "--arch");
  EXPECT_EQ(wide.name, "wide");
  EXPECT_EQ(wide.model->name, "grid");
  EXPECT_EQ(wide.summary, "eight rows");
  EXPECT_EQ(wide.params.integer("rows"), 8);
  EXPECT_EQ(wide.params.text("links"), "[[0,0],[1,-1]]");
  EXPECT_EQ(wide.build()->params().integer("rows"), 8);
}

TEST_F(ArchCatalogTest, UnknownNameSuggestsTheNearest) {
  EXPECT_EQ(error_of([&] { catalog_.find("wid", "--arch"); }),
            "--arch: unknown machine 'wid'; did you mean 'wide'? known: grid, line, broken, wide");
}

TEST_F(ArchCatalogTest, BuiltInConfigurationsExtendModelsOnly) {
  EXPECT_THROW(catalog_.find("broken", "--arch"), InputError);
}

TEST_F(ArchCatalogTest, FilesMayExtendANamedConfiguration) {
  const Machine machine = catalog_.parse("arch: wide\ngating: true\n", "my.yaml");
  EXPECT_EQ(machine.name, "wide");
  EXPECT_EQ(machine.params.integer("rows"), 8);
  EXPECT_TRUE(machine.params.flag("gating"));
  EXPECT_EQ(catalog_.parse("name: mine\narch: grid\nrows: 2", "my.yaml").name, "mine");
}

TEST_F(ArchCatalogTest, ErrorsNameFileLineAndKey) {
  EXPECT_EQ(parse_error("arch: grid\nrwos: 3\n"),
            "my.yaml:2: unknown key 'rwos' for grid; did you mean 'rows'? known: rows, links, gating");
  EXPECT_EQ(parse_error("arch: grid\n\nrows: many\n"),
            "my.yaml:3: 'many' is not a value for 'rows' of grid; allowed: 1..64 PEs");
  EXPECT_EQ(parse_error("arch: grid\nrows: [1, 2]\n"),
            "my.yaml:2: '[1,2]' is not a value for 'rows' of grid; allowed: 1..64 PEs");
  EXPECT_EQ(parse_error("arch: gird\n"),
            "my.yaml:1: unknown machine 'gird'; did you mean 'grid'? known: grid, line, broken, wide");
  EXPECT_EQ(parse_error("rows: 3\n"),
            "my.yaml: the file does not say which machine it configures; add a line 'arch: NAME'");
  EXPECT_EQ(parse_error("arch: grid\nrows: 3\nrows: 4\n"),
            "my.yaml:3: the key 'rows' is there twice; remove one of them");
  EXPECT_EQ(parse_error("arch: grid\nrows: 3\nparams: {rows: 4}\n"),
            "my.yaml:3: 'rows' was already set at my.yaml:2; remove one of them");
  EXPECT_EQ(parse_error("arch: grid\nbase: grid\n"),
            "my.yaml:2: 'arch' and 'base' mean the same; keep one of them");
  EXPECT_EQ(parse_error("arch: grid\nrows: {a: 1}\n"),
            "my.yaml:2: the value of 'rows' is a map; write a number, a word or a list");
  EXPECT_EQ(parse_error("arch: grid\nrows:\n"),
            "my.yaml:2: the value of 'rows' is missing; write a number, a word or a list");
  EXPECT_EQ(parse_error(""), "my.yaml: it is empty; start with 'arch: NAME'");
  EXPECT_EQ(parse_error("- a\n- b\n"),
            "my.yaml:1: this is not a list of 'key: value' lines; start with 'arch: NAME'");
  EXPECT_TRUE(parse_error("arch: [grid\n").starts_with("my.yaml:2: not YAML: "))
      << parse_error("arch: [grid\n");
  EXPECT_EQ(parse_error("arch: grid\n---\narch: grid\n"),
            "my.yaml: it holds more than one document; keep one, without '---'");
}

TEST_F(ArchCatalogTest, HostileYamlIsRefused) {
  std::string bomb = "arch: grid\na: &a [x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'i'; ++c)
    bomb += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1}]\n", c, static_cast<char>(c - 1));
  EXPECT_NE(parse_error(bomb), "no error");
  EXPECT_NE(parse_error("arch: grid\nlinks: " + std::string(100000, '[')), "no error");
  EXPECT_NE(parse_error("arch: grid\nlinks: " + std::string(2000000, 'x')), "no error");
  EXPECT_NE(parse_error("arch: grid\nlinks: &a [*a]\n"), "no error");
  // YAML::LoadAll() of yaml-cpp 0.7 never ends on these.
  EXPECT_NE(parse_error("a # b\n, c"), "no error");
  EXPECT_NE(parse_error("arch: grid # b\n, c"), "no error");
}

TEST_F(ArchCatalogTest, ParametersThatDoNotGoTogetherNameTheFile) {
  try {
    catalog_.parse("arch: grid\nrows: 13\n", "my.yaml").build();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "my.yaml: grid: 13 rows bring bad luck; everybody knows; set rows=12; or 14");
    EXPECT_EQ(error.remedy(), "set rows=12; or 14");
  }
}

TEST_F(ArchCatalogTest, FilesStartFromFiles) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file(folder.file(name), text);
  };
  std::filesystem::create_directory(folder.file("mine"));
  write("base.yaml", "arch: wide\nname: base\ngating: true\n");
  write("mine/rows.yml", "base: ../base.yaml\nrows: 16\n");
  write("mine/last.yaml", "base: rows.yml\nname: last\ngating: false\n");
  const Machine machine = catalog_.load(folder.file("mine/last.yaml"));
  EXPECT_EQ(machine.name, "last");
  EXPECT_EQ(machine.params.integer("rows"), 16);
  EXPECT_EQ(machine.params.flag("gating"), false);
  EXPECT_EQ(machine.params.text("links"), "[[0,0],[1,-1]]");
  EXPECT_EQ(catalog_.load(folder.file("mine/rows.yml")).name, "base");
  const auto load_error = [&](const std::string& name) {
    return error_of([&] { catalog_.load(folder.file(name)); });
  };
  write("self.yaml", "base: ./self.yaml\n");
  write("one.yaml", "base: two.yaml\n");
  write("two.yaml", "base: one.yaml\n");
  EXPECT_EQ(load_error("self.yaml"),
            folder.file("self.yaml") +
                ":1: './self.yaml' starts from this file itself; name a machine, or another file");
  EXPECT_NE(load_error("one.yaml").find("two.yaml:1: 'one.yaml' starts from this file itself"),
            std::string::npos);
  write("lost.yaml", "base: nowhere.yaml\n");
  EXPECT_NE(load_error("lost.yaml").find("nowhere.yaml: there is no such file"), std::string::npos);
  for (int i = 0; i < 20; ++i) write(fmt::format("c{}.yaml", i), fmt::format("base: c{}.yaml\n", i + 1));
  EXPECT_NE(load_error("c0.yaml").find("more than 16 files start from one another"), std::string::npos);
  write("bad.yaml", "base: base.yaml\nrwos: 2\n");
  EXPECT_TRUE(
      load_error("bad.yaml").starts_with(folder.file("bad.yaml") + ":2: unknown key 'rwos' for grid"));
  EXPECT_EQ(
      parse_error("base: base.yaml\n"),
      "my.yaml:1: 'base.yaml' is a file, which only a file can start from; name a machine, or give this "
      "configuration as a file too");
}

TEST_F(ArchCatalogTest, MissingFile) { EXPECT_THROW(catalog_.load("/nowhere/my.yaml"), InputError); }

TEST_F(ArchCatalogTest, SettingsReachEveryMachineThatHasTheKey) {
  std::vector<Machine> machines{catalog_.find("grid", ""), catalog_.find("line", "")};
  apply_setting(machines, "rows=6", "--set");
  apply_setting(machines, "clock=2.5", "--set");
  apply_setting(machines, "line.rows=7", "--set");
  EXPECT_EQ(machines[0].params.integer("rows"), 6);
  EXPECT_EQ(machines[1].params.integer("rows"), 7);
  EXPECT_DOUBLE_EQ(machines[1].params.number("clock"), 2.5);
  const auto error = [&](const char* assignment) {
    return error_of([&] { apply_setting(machines, assignment, "--set"); });
  };
  EXPECT_EQ(error("clok=1"),
            "--set: unknown key 'clok'; did you mean 'clock'? known: rows, links, gating, clock");
  EXPECT_EQ(error("gird.rows=1"),
            "--set: 'gird' is not one of the machines given; did you mean 'grid'? known: grid, line");
  EXPECT_EQ(error("grid.clock=1"), "--set: unknown key 'clock' for grid; known: rows, links, gating");
  EXPECT_EQ(error("rows"), "--set: 'rows' is not an assignment; write key=value, for example rows=8");
  EXPECT_EQ(error("rows=50"), "--set: '50' is not a value for 'rows' of line; allowed: 1..8 PEs");
}

// Keys are not compared with each other one by one: that took 6 s for these.
TEST(ArchConfig, ManyKeysTakeLinearTime) {
  std::string text = "arch: grid\n";
  for (int i = 0; i < 60000; ++i) text += fmt::format("key{}: 1\n", i);
  const auto begin = std::clock();
  EXPECT_EQ(ArchConfig::parse(text, "my.yaml").settings.size(), 60000u);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, runs_sanitized() ? 20 : 2);
  EXPECT_TRUE(error_of([&] {
                ArchConfig::parse(text + "key7: 1\n", "my.yaml");
              }).starts_with("my.yaml:60002: the key 'key7' is there twice"));
}

}  // namespace
}  // namespace lacuna
