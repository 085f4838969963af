// config.json and log.csv of `lacuna train`, held against docs/schema.
#include "cli/json_schema.hpp"
#include "cli/train_fixture.hpp"

namespace lacuna::testing_support {
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
}  // namespace lacuna::testing_support
