#include "trace/trace_info.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/parse_number.hpp"
#include "base/quote.hpp"

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

}  // namespace

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
  return info;
}

}  // namespace lacuna
