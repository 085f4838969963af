// JSON from a file that may lie: limited in depth, no key twice, in time that grows with the text alone.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lacuna {

// The whole text as one value. Throws InputError; `where` and `what` ("the header") start the message.
nlohmann::json parse_untrusted_json(std::string_view text, const std::string& where, std::string_view what);

// The members of an object or the items of a list, one after the other: only one of them is in memory, and
// none may hold more than kMostJsonValues. Keys of the object are not compared with each other. `use` may
// throw. Returns false if the text is something else.
constexpr std::size_t kMostJsonValues = 1 << 16;
bool parse_untrusted_members(std::string_view text, const std::string& where, std::string_view what,
                             const std::function<void(std::string key, const nlohmann::json& value)>& use);
bool parse_untrusted_items(std::string_view text, const std::string& where, std::string_view what,
                           const std::function<void(const nlohmann::json& item)>& use);

}  // namespace lacuna
