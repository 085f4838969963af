// The recorded traces that tests run on: those of data/, and those of the folder that LACUNA_TRACES names, if
// it is set.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/text/csv.hpp"

namespace lacuna::testing {

// data/MANIFEST.csv; every row has the columns of its first line.
CsvTable trace_manifest();

// All of them, sorted by name; one that is in both folders is taken from data/.
std::vector<std::filesystem::path> recorded_traces();

// data/NAME.safetensors.zst
std::filesystem::path shipped_trace(const std::string& name);

// "alexnet_p100" of ".../alexnet_p100.safetensors.zst": also a name that GoogleTest takes.
std::string trace_name(const std::filesystem::path& path);

}  // namespace lacuna::testing
