#include "report/result/json_text.hpp"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/version.hpp"

namespace lacuna {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  // Below 2^53 every integer is a double, and nothing is lost by writing it as one.
  if (value == std::floor(value) && std::abs(value) < 0x1p53)
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

JsonLine& JsonLine::raw(std::string_view name, std::string_view json) {
  text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", json_string(name), json);
  return *this;
}

std::string json_document(std::string_view list, const std::vector<std::string>& items) {
  return fmt::format("{{\n  \"schema\": 1,\n  \"lacuna\": {},\n  {}: [\n{}\n  ]\n}}\n",
                     json_string(version()), json_string(list), fmt::join(items, ",\n"));
}

}  // namespace lacuna
