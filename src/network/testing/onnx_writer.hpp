// Writes the few messages of ONNX that tests and fuzzers need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::network::testing {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80U);
  return out + static_cast<char>(value);
}
inline std::string number(unsigned field, std::int64_t value) {
  return varint(field << 3U) + varint(static_cast<std::uint64_t>(value));
}
inline std::string bytes(unsigned field, std::string_view value) {
  return varint(field << 3U | 2U) + varint(value.size()) + std::string(value);
}

using Sizes = std::vector<std::int64_t>;

inline std::string ints(std::string_view name, const Sizes& values) {
  std::string attribute = bytes(1, name);
  for (const std::int64_t value : values) attribute += number(8, value);
  return bytes(5, attribute);
}
inline std::string integer(std::string_view name, std::int64_t value) {
  return bytes(5, bytes(1, name) + number(3, value));
}
inline std::string word(std::string_view name, std::string_view value) {
  return bytes(5, bytes(1, name) + bytes(4, value));
}
inline std::string node(std::string_view op, const std::vector<std::string>& inputs, std::string_view output,
                        std::string_view attributes = "") {
  std::string fields;
  for (const std::string& input : inputs) fields += bytes(1, input);
  return bytes(1, fields + bytes(2, output) + bytes(3, std::string(output) + "_node") + bytes(4, op) +
                      std::string(attributes));
}
// An initializer: a weight of FP32 whose values are left out, or integers.
inline std::string weight(std::string_view name, const Sizes& sizes) {
  std::string tensor;
  for (const std::int64_t size : sizes) tensor += number(1, size);
  return bytes(5, tensor + number(2, 1) + bytes(8, name));
}
inline std::string integers(std::string_view name, const Sizes& values) {
  std::string packed;
  for (const std::int64_t value : values) packed += varint(static_cast<std::uint64_t>(value));
  return bytes(5, number(1, static_cast<std::int64_t>(values.size())) + number(2, 7) + bytes(7, packed) +
                      bytes(8, name));
}
// An input of the graph; a size of -1 is open.
inline std::string input(std::string_view name, const Sizes& sizes) {
  std::string shape;
  for (const std::int64_t size : sizes) shape += bytes(1, size < 0 ? bytes(2, "batch") : number(1, size));
  return bytes(11, bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape))));
}
inline std::string model(std::string_view graph) {
  return number(1, 8) + bytes(7, std::string(graph) + bytes(2, "net"));
}

}  // namespace lacuna::network::testing
