// Seeds of the fuzzers of src/dataset.
#pragma once

#include <string_view>
#include <vector>

#include "dataset/readers/file_bytes.hpp"

namespace lacuna {

// Empty if the fuzzer is not one of them.
std::vector<dataset::Bytes> dataset_seeds(std::string_view fuzzer);

}  // namespace lacuna
