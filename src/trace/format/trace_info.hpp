// The metadata of a trace, from text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace lacuna {

using TextMap = std::map<std::string, std::string>;

// The known keys of `values`, checked; `model` is required. Throws InputError; `where` starts the message.
TraceInfo read_trace_info(const TextMap& values, const std::string& where);

// Returns the list of layers left out as the metadata holds it (JSON inside a string), for writers.
std::string left_out_json(const std::vector<LeftOut>& parts);

// The value of a key that must be there.
const std::string& required_metadata(const TextMap& values, const char* key, const std::string& where);

}  // namespace lacuna
