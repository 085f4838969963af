#include "trace/format/trace_info.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/io/untrusted_json.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna {
namespace {

const std::string* find(const TextMap& values, const char* key) {
  const auto at = values.find(key);
  return at == values.end() ? nullptr : &at->second;
}

template <typename Number>
std::optional<Number> number(const TextMap& values, const char* key, Number low, Number high,
                             const std::string& where) {
  const std::string* text = find(values, key);
  if (text == nullptr) return std::nullopt;
  const std::optional<Number> value = parse_number<Number>(*text);
  if (!value || !(*value >= low && *value <= high)) {
    throw InputError(where,
                     fmt::format("'{}' of the metadata is {}, not a number from {} to {}", key,
                                 quote_name(*text), low, high),
                     "correct it or leave it out");
  }
  return value;
}

std::vector<LeftOut> read_left_out(const std::string& text, const std::string& where) {
  constexpr std::string_view kCorrect = "correct it or leave it out";
  constexpr std::size_t kMost = 100000;
  constexpr std::uint64_t kMostMacs = std::uint64_t{1} << 60;
  std::vector<LeftOut> parts;
  const auto fail = [&](std::string_view cause) {
    throw InputError(where, fmt::format("entry {} of 'left_out' {}", parts.size(), cause), kCorrect);
  };
  const bool is_list = parse_untrusted_items(text, where, "'left_out'", [&](const nlohmann::json& item) {
    if (parts.size() == kMost) fail("is one too many");
    if (!item.is_object()) fail("is not an object");
    LeftOut part;
    for (auto [key, target] : {std::pair("name", &part.name), std::pair("type", &part.type)}) {
      const auto at = item.find(key);
      if (at == item.end() || !at->is_string()) fail(fmt::format("has no '{}'", key));
      *target = at->get<std::string>();
    }
    if (const auto macs = item.find("macs"); macs != item.end() && !macs->is_null()) {
      if (!macs->is_number_unsigned() || macs->get<std::uint64_t>() > kMostMacs)
        fail("has 'macs' that are not a number from 0 to 2^60");
      part.macs = macs->get<std::int64_t>();
    }
    parts.push_back(std::move(part));
  });
  if (!is_list) throw InputError(where, "'left_out' of the metadata is not a list", kCorrect);
  return parts;
}

}  // namespace

std::string left_out_json(const std::vector<LeftOut>& parts) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LeftOut& part : parts) {
    nlohmann::ordered_json entry{{"name", part.name}, {"type", part.type}};
    if (part.macs) entry["macs"] = *part.macs;
    list.push_back(std::move(entry));
  }
  return list.dump();
}

const std::string& required_metadata(const TextMap& values, const char* key, const std::string& where) {
  const std::string* value = find(values, key);
  if (value == nullptr) {
    throw InputError(where, fmt::format("the metadata has no '{}'", key),
                     "is this a training trace? docs/trace-format.md says what one needs");
  }
  return *value;
}

TraceInfo read_trace_info(const TextMap& values, const std::string& where) {
  TraceInfo info;
  info.model = required_metadata(values, "model", where);
  if (const std::string* dataset = find(values, "dataset")) info.dataset = *dataset;
  info.progress = number<double>(values, "progress", 0, 1, where);
  info.epoch = number<double>(values, "epoch", 0, 1e9, where);
  info.batch = number<std::int64_t>(values, "batch", 1, std::int64_t{1} << 24, where);
  info.samples = number<std::int64_t>(values, "samples", 1, std::int64_t{1} << 24, where);
  info.accuracy = number<double>(values, "accuracy", 0, 1, where);
  info.loss = number<double>(values, "loss", -1e30, 1e30, where);
  if (const std::string* parts = find(values, "left_out")) info.left_out = read_left_out(*parts, where);
  return info;
}

}  // namespace lacuna
