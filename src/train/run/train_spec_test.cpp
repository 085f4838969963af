#include "train/run/train_spec.hpp"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "base/testing.hpp"
#include "train/testing/spec_documents.hpp"

namespace lacuna::train {
namespace {

std::string text_in(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The documents in the repository. LACUNA_UPDATE_DOCUMENTS=1 rewrites them from the table of options.
void expect_document(const std::string& path, const std::string& expected) {
  if (std::getenv("LACUNA_UPDATE_DOCUMENTS") != nullptr) std::ofstream(path) << expected;
  EXPECT_EQ(text_in(path), expected)
      << "run: LACUNA_UPDATE_DOCUMENTS=1 train_test --gtest_filter='TrainSpec.*'";
}

TEST(TrainSpec, TheSchemaFollowsTheOptions) {
  expect_document(LACUNA_SOURCE_DIR "/docs/schema/train-config-v1.schema.json", config_schema());
}

TEST(TrainSpec, TheDocumentedTableFollowsTheOptions) {
  const std::string path = LACUNA_SOURCE_DIR "/docs/training.md";
  const std::string begin = "<!-- options of lacuna train: begin -->\n\n",
                    end = "<!-- options of lacuna train: end -->";
  std::string page = text_in(path);
  const std::size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_LT(from, to);
  page.replace(from + begin.size(), to - from - begin.size(), options_table() + "\n");
  expect_document(path, page);
}

// Every value that a user can type comes back as it was typed, from the member that it belongs to.
TEST(TrainSpec, EveryOptionKeepsItsValue) {
  std::set<std::string> names, places;
  for (const TrainOption& option : train_options()) {
    const ParamSpec& spec = option.spec;
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    if (!option.config.empty()) {
      EXPECT_TRUE(places.insert(option.config).second) << option.config;
    }
    TrainSpec given;
    EXPECT_EQ(option.get(given).value_or(""),
              spec.default_value == "0" && !option.problem("0").empty() ? "" : spec.default_value)
        << spec.name;
    std::vector<std::string> values;
    if (spec.kind == ParamSpec::Kind::kInteger) values = {"3"};
    if (spec.kind == ParamSpec::Kind::kNumber) values = {"0.25"};
    if (spec.kind == ParamSpec::Kind::kFlag) values = {"on", "off"};
    if (spec.kind == ParamSpec::Kind::kText) values = spec.choices.empty() ? values : spec.choices;
    if (spec.name == "size") values = {"24"};
    for (const std::string& value : values) {
      option.give(given, value);
      EXPECT_EQ(option.get(given), value) << spec.name;
      EXPECT_TRUE(given.given.contains(spec.name));
    }
    const TrainSpec fresh;
    for (const TrainOption& other : train_options())
      if (other.spec.name != spec.name) {
        EXPECT_EQ(other.get(given), other.get(fresh)) << spec.name << " changes " << other.spec.name;
      }
  }
}

TEST(TrainSpec, RefusesValuesOutOfRange) {
  TrainSpec spec;
  const auto give = [&](const std::string& name, const std::string& text) {
    for (const TrainOption& option : train_options())
      if (option.spec.name == name) return error_of([&] { option.give(spec, text); });
    return "no option " + name;
  };
  EXPECT_EQ(give("batch", "0"), "--batch: give a whole number from 1 to 65536; see 'lacuna train --help'");
  EXPECT_EQ(give("seed", "18446744073709551615"), "no error");
  EXPECT_EQ(give("seed", "-1"),
            "--seed: give a whole number from 0 to 18446744073709551615; see 'lacuna train --help'");
  EXPECT_EQ(give("lr", "nan"), "--lr: give a positive number; see 'lacuna train --help'");
  EXPECT_EQ(give("density", "0"), "--density: give a number above 0 and up to 1; see 'lacuna train --help'");
  EXPECT_EQ(give("kernels", "spars"),
            "--kernels spars: unknown name; did you mean 'sparse'? known: dense, sparse, auto");
}

TEST(TrainSpec, OptimizersHaveTheirOwnOptionsAndDefaults) {
  const auto settled = [](std::vector<std::pair<std::string, std::string>> given) {
    TrainSpec spec;
    for (const auto& [name, text] : given)
      for (const TrainOption& option : train_options())
        if (option.spec.name == name) option.give(spec, text);
    check(spec);
    settle(spec, 100);
    return spec.training;
  };
  EXPECT_EQ(settled({}).schedule.rate, 0.02);
  EXPECT_EQ(settled({}).optimizer.weight_decay, 5e-4);
  EXPECT_EQ(settled({{"optimizer", "adamw"}}).schedule.rate, 1e-3);
  EXPECT_EQ(settled({{"optimizer", "adamw"}}).optimizer.weight_decay, 1e-2);
  EXPECT_EQ(settled({{"optimizer", "adamw"}, {"lr", "0.02"}}).schedule.rate, 0.02);
  EXPECT_EQ(settled({{"optimizer", "adamw"}, {"weight-decay", "0"}}).optimizer.weight_decay, 0);
  EXPECT_EQ(settled({{"optimizer", "adamw"}, {"beta2", "0.95"}}).optimizer.beta2, 0.95);
  EXPECT_EQ(error_of([&] {
              settled({{"eps", "0.1"}});
            }),
            "--eps: it belongs to --optimizer adamw; add that, or leave it out");
  EXPECT_EQ(error_of([&] {
              settled({{"optimizer", "adamw"}, {"momentum", "0.8"}});
            }),
            "--momentum: adamw has none; use --beta1, or leave it out");
}

// Checkpoints of earlier versions do not mention newer options, and those of this version do so only where
// they differ from what those versions did.
TEST(TrainSpec, NewerOptionsAreOmittedAtTheirDefault) {
  const TrainSpec spec;
  const std::map<std::string, std::string> newer = {
      {"optimizer", "sgd"}, {"beta1", "0.9"}, {"beta2", "0.999"}, {"eps", "1e-08"}};
  for (const Setting& setting : checkpoint_settings(spec))
    EXPECT_EQ(setting.assumed, newer.contains(setting.key) ? newer.at(setting.key) : "") << setting.key;
}

}  // namespace
}  // namespace lacuna::train
