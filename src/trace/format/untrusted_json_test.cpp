#include "base/io/untrusted_json.hpp"

#include <ctime>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/io/safetensors.hpp"
#include "base/testing.hpp"
#include "trace/trace.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

std::string json_error(std::string_view text) {
  return error_of([&] { parse_untrusted_json(text, "f", "the file"); });
}

TEST(UntrustedJson, ReadsWhatTheLibraryReads) {
  for (const char* text : {"null", "true", "-3", "18446744073709551615", "2.5e3", "\"a\\u00e9\\n\"", "[]",
                           "{}", R"([1,[2,[3,{"a":[4,{}]}]],"x",null,{"b":{"c":[]},"a":false}])",
                           R"( {"runs":[{"a":1,"b":[{"c":2},{"c":3}]},{"a":4}],"z":{"y":{"x":1.5}}} )"}) {
    EXPECT_EQ(parse_untrusted_json(text, "f", "the file"), json::parse(text)) << text;
  }
}

TEST(UntrustedJson, RefusesRepeatedKeysAndDepth) {
  EXPECT_EQ(json_error(R"({"a":1,"b":{"c":1,"d":2,"c":3}})"),
            "f: the file has the key 'c' twice; copy or record the file again");
  EXPECT_EQ(json_error(R"([{"a":1},{"a":1}])"), "no error");
  EXPECT_EQ(json_error(std::string(8, '[') + std::string(8, ']')), "no error");
  EXPECT_EQ(json_error(std::string(9, '[')), "f: the file is nested too deep; copy or record the file again");
  EXPECT_EQ(json_error("[1,]"), "f: the file is not JSON from byte 4 on; copy or record the file again");
  EXPECT_EQ(json_error("[1e999]"),
            "f: the file holds a number that is out of range; copy or record the file again");
}

TEST(UntrustedJson, HandsOverMembersAndItems) {
  std::string seen;
  const auto member = [&](const std::string& key, const json& value) { seen += key + value.dump() + ";"; };
  EXPECT_TRUE(parse_untrusted_members(R"({"a":1,"b":{"c":[2,{}]},"a":[]})", "f", "it", member));
  EXPECT_EQ(seen, R"(a1;b{"c":[2,{}]};a[];)");
  EXPECT_FALSE(parse_untrusted_members("[1]", "f", "it", member));
  EXPECT_FALSE(parse_untrusted_members("1", "f", "it", member));
  seen.clear();
  const auto item = [&](const json& value) { seen += value.dump() + ";"; };
  EXPECT_TRUE(parse_untrusted_items(R"([{"a":{"b":1}},[[]],"x"])", "f", "it", item));
  EXPECT_EQ(seen, R"({"a":{"b":1}};[[]];"x";)");
  EXPECT_FALSE(parse_untrusted_items(R"({"a":1})", "f", "it", item));
  std::string many = "{\"a\":[0";
  for (std::size_t i = 0; i < kMostJsonValues; ++i) many += ",0";
  EXPECT_EQ(error_of([&] { parse_untrusted_members(many + "]}", "f", "it", member); }),
            "f: an entry of it holds more than 65536 values; copy or record the file again");
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The processor time of one file must grow with its size, not with its square: 16 times as many entries take
// less than 64 times as long.
template <typename Make, typename Read>
void expect_linear(int few, const Make& make, const Read& read) {
  const auto time = [&](int count) {
    const auto input = make(count);
    const double begin = cpu_seconds();
    read(input);
    return cpu_seconds() - begin;
  };
  time(few);
  const double small = time(few);
  const double large = time(16 * few);
  EXPECT_LT(large, 64 * small + 0.05) << "with " << few << ": " << small << " s, with " << 16 * few;
}

TEST(UntrustedJson, TensorsTakeLinearTime) {
  const auto header = [](int count) {
    std::string text = "{";
    for (int i = 0; i < count; ++i)
      text +=
          fmt::format(R"({}"t{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", i > 0 ? "," : "", i);
    return safetensors_file(text + "}", "");
  };
  expect_linear(2500, header, [](const auto& bytes) { Safetensors::parse(bytes, "f"); });
}

TEST(UntrustedJson, LayersTakeLinearTime) {
  const auto trace = [](int count) {
    json layers = json::array();
    for (int i = 0; i < count; ++i) {
      layers.push_back({{"name", fmt::format("l{}", i)},
                        {"type", "linear"},
                        {"in_features", 8},
                        {"out_features", 8},
                        {"batch", 1}});
    }
    const json header{
        {"__metadata__",
         {{"format", "training-trace"}, {"version", "1"}, {"model", "m"}, {"layers", layers.dump()}}}};
    return safetensors_file(header.dump(), "");
  };
  expect_linear(1000, trace, [](const auto& bytes) { Trace::parse("f", bytes); });
}

// So does writing them.
TEST(UntrustedJson, HeadersAreWrittenInLinearTime) {
  const auto items = [](int count) {
    std::vector<SafetensorsItem> all;
    for (int i = 0; i < count; ++i)
      all.push_back({fmt::format("{}{}", std::string(100, 'l'), i), "U8", {1}, 1});
    return all;
  };
  expect_linear(2500, items,
                [](const auto& all) { safetensors_start(nlohmann::ordered_json::object(), all); });
}

TEST(UntrustedJson, WholeTextsTakeLinearTime) {
  const auto list = [](int count) {
    std::string text = R"({"runs":[0)";
    for (int i = 0; i < count; ++i) text += R"(,{"a":[1,2],"b":{"c":"x"}})";
    return text + "]}";
  };
  expect_linear(2500, list, [](const auto& text) { parse_untrusted_json(text, "f", "it"); });
}

}  // namespace
}  // namespace lacuna
