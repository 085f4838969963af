// The number formats that tensors are stored in and machines compute in. A new one is an enumerator, a row of
// kDataTypes and its conversions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tensor/bfloat16.hpp"
#include "tensor/scaled_half.hpp"

namespace lacuna {

enum class DataType {
  kFp32,
  kBfloat16,  // a machine multiplies bfloat16 operands exactly and accumulates in FP32
  kMixed,     // the same with IEEE half-precision operands ("mixed precision")
};

struct DataTypeFacts {
  DataType type;
  std::string_view name;  // in parameters, energy tables and results
  int bits;
  // Type of recorded values in a trace (safetensors), with its bits from and to a float; empty if values are
  // never recorded in it.
  std::string_view dtype;
  std::uint32_t (*encode)(float);  // rounds to nearest
  float (*decode)(std::uint32_t);
  std::uint32_t not_finite;  // bits that are all set in an infinity and in a NaN, and in no other value
  // Arithmetic of machines; nothing if no machine computes in it.
  float (*round)(float);
  float smallest;  // the smallest positive value
};

inline constexpr std::array<DataTypeFacts, 3> kDataTypes{{
    {.type = DataType::kFp32,
     .name = "fp32",
     .bits = 32,
     .dtype = "F32",
     .encode = [](float value) { return std::bit_cast<std::uint32_t>(value); },
     .decode = [](std::uint32_t bits) { return std::bit_cast<float>(bits); },
     .not_finite = 0x7f800000U,
     .round = [](float value) { return value; },
     .smallest = std::bit_cast<float>(std::uint32_t{1})},
    {.type = DataType::kBfloat16,
     .name = "bfloat16",
     .bits = 16,
     .dtype = "BF16",
     .encode = [](float value) -> std::uint32_t { return float_to_bfloat16(value); },
     .decode = [](std::uint32_t bits) { return bfloat16_to_float(static_cast<std::uint16_t>(bits)); },
     .not_finite = 0x7f80U,
     .round = round_to_bfloat16,
     .smallest = bfloat16_to_float(1)},
    {.type = DataType::kMixed,
     .name = "mixed",
     .bits = 16,
     .dtype = "",
     .encode = nullptr,
     .decode = nullptr,
     .not_finite = 0,
     .round = round_to_scaled_half,
     .smallest = kSmallestScaledHalf},
}};

constexpr const DataTypeFacts& facts_of(DataType type) { return kDataTypes[static_cast<std::size_t>(type)]; }
constexpr int bits_of(DataType type) { return facts_of(type).bits; }
constexpr std::int64_t bytes_of(DataType type) { return bits_of(type) / 8; }
constexpr std::string_view data_type_name(DataType type) { return facts_of(type).name; }

// The types that a trace may record values in.
inline constexpr auto kRecordedTypes = [] {
  constexpr auto kRecorded = [](const DataTypeFacts& facts) { return !facts.dtype.empty(); };
  std::array<DataType, std::ranges::count_if(kDataTypes, kRecorded)> types{};
  std::size_t count = 0;
  for (const DataTypeFacts& facts : kDataTypes) {
    if (kRecorded(facts)) types[count++] = facts.type;
  }
  return types;
}();

// A recorded value in little-endian bytes, which may be unaligned.
inline float load_value(DataType type, const std::uint8_t* from) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, static_cast<std::size_t>(bytes_of(type)));
  return facts_of(type).decode(bits);
}
inline void store_value(DataType type, float value, std::uint8_t* to) {
  const std::uint32_t bits = facts_of(type).encode(value);
  std::memcpy(to, &bits, static_cast<std::size_t>(bytes_of(type)));
}

}  // namespace lacuna
