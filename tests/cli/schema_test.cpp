// Output for programs besides results: the JSON of `inspect`, `bench` and `arch area`, held against
// docs/schema.
#include "cli/cli_fixture.hpp"
#include "cli/json_schema.hpp"

namespace lacuna {
namespace {

using nlohmann::json;
using namespace testing;

// Empty if the document is valid and names the program's version.
std::vector<std::string> violations(const std::string& schema, const json& document) {
  EXPECT_EQ(document.value("lacuna", ""), LACUNA_TEST_VERSION) << schema;
  return JsonSchema(json::parse(read_text(LACUNA_SOURCE_DIR "/docs/schema/" + schema))).violations(document);
}
const std::vector<std::string> kValid;

TEST_F(CliTest, InspectFollowsItsSchema) {
  const std::string recorded = LACUNA_SOURCE_DIR "/data/alexnet_p100.safetensors.zst";
  const ProgramResult result = run_lacuna({"inspect", recorded, small_trace("s.safetensors"), "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  json document = json::parse(result.out);
  EXPECT_EQ(violations("inspect-v1.schema.json", document), kValid);
  document["traces"][0]["layers"][0].erase("macs");
  document["traces"][0]["more"] = 1;
  EXPECT_EQ(violations("inspect-v1.schema.json", document).size(), 2u);
}

TEST_F(CliTest, BenchFollowsItsSchema) {
  const std::string out = folder_.file("bench.json");
  const ProgramResult result =
      run_lacuna({"bench", "layers", "--shapes", "vgg16", "--layer", "conv5_1", "--batch", "1", "--zeros",
                  "50", "--rounds", "1", "--seconds", "0.001", "--op", "forward", "--json", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(read_text(out));
  ASSERT_FALSE(document["cases"].empty()) << document;
  EXPECT_EQ(violations("bench-v1.schema.json", document), kValid);
}

TEST_F(CliTest, AreaFollowsItsSchema) {
  for (const char* machine : {"dense", "tensordash", "scnn", "ant"}) {
    const ProgramResult result = run_lacuna({"arch", "area", machine, "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(violations("arch-area-v2.schema.json", json::parse(result.out)), kValid) << machine;
  }
  const json several = json::parse(run_lacuna({"arch", "area", "dense", "tensordash", "ant", "--json"}).out);
  EXPECT_EQ(several["machines"].size(), 3u);
  EXPECT_EQ(violations("arch-area-v2.schema.json", several), kValid);
}

}  // namespace
}  // namespace lacuna
