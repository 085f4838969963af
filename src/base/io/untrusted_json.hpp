// JSON from untrusted files: limited depth, no duplicate keys, linear time.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lacuna {

// Parses the whole text as one value. Throws InputError; `where` and `what` ("the header") start the message.
nlohmann::json parse_untrusted_json(std::string_view text, const std::string& where, std::string_view what);

// Reads the members of an object or the items of a list one at a time: only one is in memory, and none may
// hold more than kMostJsonValues. Duplicate keys of the object are not detected. `use` may throw. Returns
// false if the text is something else.
constexpr std::size_t kMostJsonValues = 1 << 16;
bool parse_untrusted_members(std::string_view text, const std::string& where, std::string_view what,
                             const std::function<void(std::string key, const nlohmann::json& value)>& use);
bool parse_untrusted_items(std::string_view text, const std::string& where, std::string_view what,
                           const std::function<void(const nlohmann::json& item)>& use);

}  // namespace lacuna
