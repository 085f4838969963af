// config.json and log.csv of `lacuna train`, held against docs/schema.
#include "cli/json_schema.hpp"
#include "cli/train_fixture.hpp"

namespace lacuna::testing {
namespace {

using nlohmann::json;

JsonSchema schema(const std::string& name) {
  return JsonSchema(json::parse(read_text(LACUNA_SOURCE_DIR "/docs/schema/" + name)));
}

TEST_F(TrainCommand, ConfigFollowsItsSchema) {
  ASSERT_EQ(run_lacuna(tiny("plain", {"--steps", "4"})).exit_code, 0);
  ASSERT_EQ(
      run_lacuna(tiny("more", {"--steps", "4", "--schedule", "step", "--prune", "sm", "--flip", "--init",
                               folder_.file("plain/checkpoint.safetensors"), "--record", "2"}))
          .exit_code,
      0);
  const json plain = json::parse(file("plain", "config.json"));
  const json more = json::parse(file("more", "config.json"));
  for (const json& config : {plain, more})
    EXPECT_EQ(schema("train-config-v1.schema.json").violations(config), std::vector<std::string>{}) << config;
  EXPECT_EQ(plain["schedule"], "cosine");
  EXPECT_EQ(plain["prune"], nullptr);
  EXPECT_EQ(plain["init"], nullptr);
  EXPECT_EQ(plain["data"]["flip"], false);
  EXPECT_EQ(plain["lr"], 0.02);
  EXPECT_EQ(more["schedule"], "step");
  EXPECT_EQ(more["prune"]["method"], "sm");
  EXPECT_EQ(more["prune"]["zeros"], 0.9);
  EXPECT_EQ(more["data"]["flip"], true);
  EXPECT_EQ(more["record_every"], 2);
  EXPECT_FALSE(schema("train-config-v1.schema.json").violations({{"schema", 2}}).empty());
}

// A run folder of version 0.1.0, before one table described all options.
TEST_F(TrainCommand, ResumesARunOfAnEarlierVersion) {
  fs::copy(LACUNA_SOURCE_DIR "/tests/data/train", folder_.path() / "old", fs::copy_options::recursive);
  const json before = json::parse(file("old/run", "config.json"));
  const std::string log_before = file("old/run", "log.csv");
  const auto resume = [&](const std::string& more) {
    return run_shell("cd '" + folder_.file("old") + "' && \"$LACUNA\" train --resume run " + more);
  };
  const ProgramResult other = resume("--steps 12 --lr 0.02");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("--lr 0.02: the run in 'run' was started with '0.05'"), std::string::npos)
      << other.err;
  const ProgramResult run = resume("--steps 12");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("resumed at step 6"), std::string::npos) << run.out;
  EXPECT_EQ(file("old/run", "log.csv").rfind(log_before, 0), 0U);  // its lines are kept
  const json after = json::parse(file("old/run", "config.json"));
  for (const auto& [key, value] : before.items())
    if (key != "lacuna" && key != "steps") {
      EXPECT_EQ(after[key], value) << key;
    }
  EXPECT_EQ(after["steps"], 12);
}

TEST_F(TrainCommand, LogFollowsItsSchema) {
  ASSERT_EQ(run_lacuna(tiny("o", {"--steps", "20", "--report-every", "3"})).exit_code, 0);
  const JsonSchema rows = schema("train-log-v1.schema.json");
  std::istringstream text(file("o", "log.csv"));
  std::string line;
  const auto fields = [&] {
    Words words;
    std::istringstream from(line);
    for (std::string word; std::getline(from, word, ',');) words.push_back(word);
    return words;
  };
  ASSERT_TRUE(std::getline(text, line));
  const Words header = fields();
  int count = 0;
  for (; std::getline(text, line); ++count) {
    const Words words = fields();
    ASSERT_EQ(words.size(), header.size()) << line;
    json row;
    for (std::size_t i = 0; i < header.size(); ++i)
      row[header[i]] = words[i].empty() ? json(nullptr) : json::parse(words[i]);
    EXPECT_EQ(rows.violations(row), std::vector<std::string>{}) << line;
  }
  EXPECT_GE(count, 6);
}

}  // namespace
}  // namespace lacuna::testing
