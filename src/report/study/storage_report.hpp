// Report of `lacuna storage`: the sizes of tensors in the forms that a machine's storage study knows.
// docs/output.md describes JSON and CSV; the study says which forms and counts there are.
#pragma once

#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/storage_study.hpp"

namespace lacuna {

// A title and a table: one row per layer and tensor, then the totals of the batch trained with. Forms are
// ratios to the dense one.
std::string storage_table(const StorageSizes& sizes, DataType type, const TextStyle& style);
// One table of totals: one row per trace and tensor.
std::string storage_summary(const std::vector<StorageSizes>& sizes, DataType type, const TextStyle& style);
std::string storage_to_json(const std::vector<StorageSizes>& sizes);
std::string storage_to_csv(const std::vector<StorageSizes>& sizes);

}  // namespace lacuna
