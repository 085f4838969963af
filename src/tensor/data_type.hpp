// The number formats that tensors are stored in and machines compute in.
#pragma once

#include <cstdint>
#include <string_view>

namespace lacuna {

enum class DataType {
  kFp32,
  kBfloat16,  // a machine multiplies bfloat16 operands exactly and accumulates in FP32
  kMixed,     // the same with IEEE half-precision operands ("mixed precision")
};

constexpr std::int64_t bytes_of(DataType type) { return type == DataType::kFp32 ? 4 : 2; }
constexpr int bits_of(DataType type) { return type == DataType::kFp32 ? 32 : 16; }

// As in parameters, energy tables and results.
constexpr std::string_view data_type_name(DataType type) {
  return type == DataType::kFp32 ? "fp32" : type == DataType::kBfloat16 ? "bfloat16" : "mixed";
}

}  // namespace lacuna
