#include "sweep/run/messages.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/sha256.hpp"

// Records travel as arrays of their columns (kColumns); lists of records follow them.
namespace nlohmann {

template <typename Value>
struct adl_serializer<std::optional<Value>> {
  static void to_json(json& to, const std::optional<Value>& value) {
    if (value) to = *value;
  }
  static void from_json(const json& from, std::optional<Value>& value) {
    if (!from.is_null()) value = from.get<Value>();
  }
};

template <>
struct adl_serializer<lacuna::sweep::Cell> {
  static void to_json(json& to, const lacuna::sweep::Cell& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) to = *text;
    if (const auto* count = std::get_if<std::int64_t>(&cell)) to = *count;
    if (const auto* number = std::get_if<double>(&cell)) to = *number;
  }
  static void from_json(const json& from, lacuna::sweep::Cell& cell) {
    if (from.is_string()) cell = from.get<std::string>();
    if (from.is_number_integer()) cell = from.get<std::int64_t>();
    if (from.is_number_float()) cell = from.get<double>();
  }
};

}  // namespace nlohmann

namespace lacuna::sweep {
namespace {

using nlohmann::json;

template <typename Record>
concept HasColumns = std::tuple_size_v<std::remove_const_t<decltype(kColumns<Record>)>> >
0;

}  // namespace

template <HasColumns Record>
void to_json(json& row, const Record& record) {
  each_column(record, [&](const auto&, const auto& value) { row.push_back(value); });
  if constexpr (requires { record.layers; }) row.push_back(record.layers);
}
template <HasColumns Record>
void from_json(const json& row, Record& record) {
  std::size_t at = 0;
  each_column(record, [&](const auto&, auto& value) { row.at(at++).get_to(value); });
  if constexpr (requires { record.layers; }) row.at(at).get_to(record.layers);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Choice, machine, values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Chunk, trace, designs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OperationRecord, layer, operation, results)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PointRecord, key, design, trace, measured, took_seconds, results,
                                   operations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ChunkResult, traces, points, failures)

namespace {

template <typename Record>
std::string packed(const Record& record) {
  std::string bytes;
  json::to_msgpack(record, bytes);
  return bytes;
}

}  // namespace

std::string to_bytes(const Chunk& chunk) { return packed(chunk); }
Chunk chunk_from(std::string_view bytes) { return json::from_msgpack(bytes).get<Chunk>(); }
std::string to_bytes(const ChunkResult& result) { return packed(result); }
ChunkResult result_from(std::string_view bytes) { return json::from_msgpack(bytes).get<ChunkResult>(); }

std::string fingerprint(const Sweep& sweep) {
  return sha256_hex(sweep.plan.text + fmt::format("{}", fmt::join(sweep.sha256, "")));
}

}  // namespace lacuna::sweep
