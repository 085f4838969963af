// Container files that lie: each case names the defect and the whole message.
#include "base/io/safetensors.hpp"

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace lacuna {
namespace {

std::string parse_error(const std::vector<std::uint8_t>& bytes) {
  return error_of([&] { Safetensors::parse(bytes, "f"); });
}

std::string header_error(const std::string& header, std::string_view data = "") {
  return parse_error(safetensors_file(header, data));
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
  const auto bytes = safetensors_file(
      R"({"__metadata__":{"k":"v"},"b":{"dtype":"U8","shape":[2,1],"data_offsets":[4,6]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"none":{"dtype":"F64","shape":[0,7],"data_offsets":[6,6]}}  )",
      "abcdef");
  const Safetensors file = Safetensors::parse(bytes, "f");
  EXPECT_EQ(file.metadata.at("k"), "v");
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_TRUE(file.tensors[0].shape.empty());
  EXPECT_EQ(file.tensors[1].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(file.tensors[1].data[0], 'e');
  EXPECT_TRUE(file.tensors[2].data.empty());
}

TEST(Safetensors, RefusesATruncatedFile) {
  EXPECT_EQ(parse_error({}), "f: the file is empty; copy or record the file again");
  EXPECT_EQ(parse_error(bytes_of("abc")),
            "f: the file ends after 3 bytes, inside the header's length; copy or record the file again");
  auto bytes = safetensors_file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd");
  bytes.resize(20);
  EXPECT_EQ(parse_error(bytes),
            "f: the header claims 53 bytes, the file has 12 left; copy or record the file again");
  bytes = safetensors_file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abc");
  EXPECT_EQ(
      parse_error(bytes),
      "f: tensor 'a': data_offsets [0,4] lie outside the 3 bytes of data; copy or record the file again");
}

// Every prefix of a good file is an error and nothing worse.
TEST(Safetensors, RefusesEveryPrefix) {
  const auto whole = safetensors_file(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}})", "abcdef");
  EXPECT_NO_THROW(Safetensors::parse(whole, "f"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(parse_error(cut), "no error") << size;
  }
}

TEST(Safetensors, RefusesALyingHeaderLength) {
  auto bytes = safetensors_file("{}", "");
  bytes[7] = 0x7f;  // more than any file holds
  EXPECT_EQ(
      parse_error(bytes),
      "f: the header claims 9151314442816847874 bytes, a safetensors header has at most 100000000; is this a "
      "safetensors file? if so, copy or record it again");
  EXPECT_EQ(parse_error(bytes_of("arch: tensordash\n")),
            "f: this is a text, not a safetensors file; give a trace");
  bytes[7] = 0;
  bytes[0] = 0;
  EXPECT_EQ(
      parse_error(bytes),
      "f: the header does not start with '{'; is this a safetensors file? if so, copy or record it again");
}

TEST(Safetensors, RefusesWhatIsNotJson) {
  EXPECT_EQ(header_error("{\"a\":"),
            "f: the header is not JSON from byte 6 on; copy or record the file again");
  EXPECT_EQ(header_error("{} {}"), "f: the header is not JSON from byte 4 on; copy or record the file again");
  EXPECT_EQ(header_error("{\"a\xff\":1}"),
            "f: the header is not JSON from byte 4 on; copy or record the file again");
  EXPECT_EQ(header_error(std::string("{}\0x", 4)),
            "f: the header is not JSON from byte 3 on; copy or record the file again");
  EXPECT_EQ(header_error("{\"a\":1e999}"),
            "f: the header holds a number that is out of range; copy or record the file again");
  EXPECT_EQ(header_error("{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}"),
            "f: the header is nested too deep; copy or record the file again");
}

TEST(Safetensors, RefusesKeysThatOccurTwice) {
  const std::string entry = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_EQ(header_error("{\"a\":" + entry + ",\"a\":" + entry + "}", "x"),
            "f: the header has the key 'a' twice; copy or record the file again");
  EXPECT_EQ(header_error(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"),
            "f: the header has the key 'dtype' twice; copy or record the file again");
}

TEST(Safetensors, RefusesEntriesOfTheWrongKind) {
  EXPECT_EQ(header_error(R"({"a":1})"),
            "f: tensor 'a': its header entry is not an object; copy or record the file again");
  EXPECT_EQ(header_error(R"({"a":{"shape":[],"data_offsets":[0,0]}})"),
            "f: tensor 'a': 'dtype' is missing or not a string; copy or record the file again");
  EXPECT_EQ(header_error(R"({"a":{"dtype":"U8","shape":3,"data_offsets":[0,0]}})"),
            "f: tensor 'a': 'shape' is missing or not a list; copy or record the file again");
  EXPECT_EQ(header_error(R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0]}})"),
            "f: tensor 'a': 'data_offsets' is missing or not a list of two; copy or record the file again");
  EXPECT_EQ(header_error(R"({"__metadata__":[]})"),
            "f: __metadata__ is not an object; copy or record the file again");
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":1}})"),
            "f: __metadata__ 'a' is not a string; copy or record the file again");
  EXPECT_EQ(header_error(R"({"a":{"dtype":"F23","shape":[],"data_offsets":[0,4]}})", "abcd"),
            "f: tensor 'a': unknown type 'F23'; did you mean 'F32'? known: BOOL, U8, I8, F8_E5M2, F8_E4M3, "
            "I16, U16, "
            "F16, BF16, I32, U32, F32, I64, U64, F64");
}

TEST(Safetensors, RefusesShapesThatDoNotFit) {
  const auto shape_error = [](const std::string& shape, const std::string& offsets = "[0,4]") {
    return header_error(R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
                        "abcd");
  };
  EXPECT_EQ(
      shape_error("[2]"),
      "f: tensor 'a': shape [2] of F32 needs 8 bytes, data_offsets span 4; copy or record the file again");
  EXPECT_EQ(shape_error("[-1]"),
            "f: tensor 'a': a dimension of its shape is not a natural number; copy or record the file again");
  EXPECT_EQ(shape_error("[1.0]"),
            "f: tensor 'a': a dimension of its shape is not a natural number; copy or record the file again");
  EXPECT_EQ(shape_error("[18446744073709551615]"),
            "f: tensor 'a': a dimension of its shape is not a natural number; copy or record the file again");
  // 2^62 * 4 bytes wraps to 0 in 64 bits.
  EXPECT_EQ(shape_error("[4611686018427387904,4]", "[0,0]"),
            "f: tensor 'a': its shape multiplies to more than 2^63 bytes; copy or record the file again");
  EXPECT_EQ(shape_error("[4294967296,4294967296]"),
            "f: tensor 'a': its shape multiplies to more than 2^63 bytes; copy or record the file again");
}

TEST(Safetensors, RefusesOffsetsOutsideOverlappingOrWithHoles) {
  const auto two = [](const std::string& first, const std::string& second) {
    return header_error(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                            R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                        "abcdefgh");
  };
  EXPECT_EQ(two("[0,4]", "[4,8]"), "no error");
  EXPECT_EQ(
      two("[0,4]", "[5,9]"),
      "f: tensor 'b': data_offsets [5,9] lie outside the 8 bytes of data; copy or record the file again");
  EXPECT_EQ(
      two("[0,4]", "[8,4]"),
      "f: tensor 'b': data_offsets [8,4] lie outside the 8 bytes of data; copy or record the file again");
  EXPECT_EQ(
      two("[0,4]", "[-4,0]"),
      "f: tensor 'b': data_offsets [-4,0] lie outside the 8 bytes of data; copy or record the file again");
  EXPECT_EQ(two("[0,4]", "[9223372036854775804,9223372036854775808]"),
            "f: tensor 'b': data_offsets [9223372036854775804,9223372036854775808] lie outside the 8 bytes "
            "of data; "
            "copy or record the file again");
  EXPECT_EQ(two("[0,4]", "[2,6]"), "f: tensors 'a' and 'b' overlap; copy or record the file again");
  EXPECT_EQ(two("[4,8]", "[4,8]"),
            "f: 4 bytes before tensor 'a' belong to none; copy or record the file again");
  const auto one = [](const std::string& offsets) {
    return header_error(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + offsets + "}}", "abcdefgh");
  };
  EXPECT_EQ(one("[0,4]"), "f: the last 4 bytes belong to no tensor; copy or record the file again");
  EXPECT_EQ(one("[4,8]"), "f: 4 bytes before tensor 'a' belong to none; copy or record the file again");
}

TEST(Safetensors, NamesInMessagesStayOnOneLine) {
  EXPECT_EQ(header_error(R"({"a\nb\u0000":1})"),
            "f: tensor 'a\\x0ab\\x00': its header entry is not an object; copy or record the file again");
  EXPECT_EQ(header_error("{\"" + std::string(5000, 'n') + "\":1}"),
            "f: tensor '" + std::string(80, 'n') +
                "...': its header entry is not an object; copy or record the file again");
}

}  // namespace
}  // namespace lacuna
