// The fields of a JSON document that say which trace a result is of.
#pragma once

#include "base/text/json.hpp"
#include "report/result/json_reader.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// Returns an object of `trace`, `model` and the rest down to `batch`; fields that the trace does not know are
// absent.
Json trace_info_json(const std::string& path, const TraceInfo& info, std::int64_t batch);

// Reads `model` and the optional fields back. Throws InputError.
TraceInfo read_trace_info(const JsonReader& source);

}  // namespace lacuna
