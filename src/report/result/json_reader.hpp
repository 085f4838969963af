// Reads an untrusted JSON object field by field; every error names the file and the place in it.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text/quote.hpp"

namespace lacuna {

// An object of the file and its place, for messages: "a.json: run 2: layer 'conv1'".
class JsonReader {
 public:
  using json = nlohmann::json;

  // `remedy` ends every message and outlives the reader.
  JsonReader(const json& value, std::string place, std::string_view remedy)
      : value_(value), place_(std::move(place)), remedy_(remedy) {
    if (!value_.is_object()) fail("it is not an object");
  }

  [[noreturn]] void fail(std::string_view cause) const { throw InputError(place_, cause, remedy_); }
  const std::string& place() const { return place_; }

  const json* find(std::string_view key) const {
    const auto at = value_.find(std::string(key));
    return at == value_.end() ? nullptr : &*at;
  }
  const json& get(std::string_view key) const {
    const json* found = find(key);
    if (found == nullptr) fail(fmt::format("'{}' is missing", key));
    return *found;
  }
  JsonReader object(std::string_view key) const {
    return {get(key), fmt::format("{}: '{}'", place_, key), remedy_};
  }
  // An entry of a list: "a.json: run 2".
  JsonReader entry(const json& value, std::string_view what, std::size_t index) const {
    return {value, fmt::format("{}: {} {}", place_, what, index + 1), remedy_};
  }

  std::string text(std::string_view key) const {
    const json& value = get(key);
    if (!value.is_string()) fail(fmt::format("'{}' is not text", key));
    return value.get<std::string>();
  }
  std::string text_or_empty(std::string_view key) const { return find(key) == nullptr ? "" : text(key); }

  std::int64_t count(std::string_view key) const { return count(get(key), key); }
  std::int64_t count(const json& value, std::string_view key) const {
    if (!value.is_number_integer()) fail(fmt::format("{} is not an integer", quote_name(key)));
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
      fail(fmt::format("{} is too large", quote_name(key)));
    }
    if (value.get<std::int64_t>() < 0) fail(fmt::format("{} is negative", quote_name(key)));
    return value.get<std::int64_t>();
  }

  double number(std::string_view key) const {
    const json& value = get(key);
    if (!value.is_number()) fail(fmt::format("'{}' is not a number", key));
    return value.get<double>();
  }
  std::optional<double> number_if_there(std::string_view key) const {
    if (find(key) == nullptr) return std::nullopt;
    return number(key);
  }
  const json& list(std::string_view key) const {
    const json& value = get(key);
    if (!value.is_array()) fail(fmt::format("'{}' is not a list", key));
    return value;
  }

 private:
  const json& value_;
  std::string place_;
  std::string_view remedy_;
};

}  // namespace lacuna
