// JSON that the program writes: built by nlohmann/json with keys in the order they are added.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lacuna {

using Json = nlohmann::ordered_json;

// Returns an integer where the value is one, so that 2.0 is written as 2; null if it is not finite.
Json number_json(double value);

// Returns the text of a file. Bytes that are not UTF-8 (a file's name may hold any) become U+FFFD.
std::string dump_json(const Json& value);

// Returns {"schema": ..., "lacuna": the program's version}, to which a document adds its fields.
Json json_document(int schema);

}  // namespace lacuna
