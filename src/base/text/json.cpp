#include "base/text/json.hpp"

#include <cmath>

#include "base/version.hpp"

namespace lacuna {

Json number_json(double value) {
  if (!std::isfinite(value)) return nullptr;
  // Below 2^53 every integer is a double, and nothing is lost by writing it as one.
  if (value == std::floor(value) && std::abs(value) < 0x1p53) return static_cast<std::int64_t>(value);
  return value;
}

std::string dump_json(const Json& value) {
  std::string text = value.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  // The one control character that JSON allows as it is.
  for (std::size_t at = 0; (at = text.find('\x7f', at)) != text.npos;) text.replace(at, 1, "\\u007f");
  return text;
}

Json json_document(int schema) { return {{"schema", schema}, {"lacuna", std::string(version())}}; }

}  // namespace lacuna
