// Reports of `lacuna storage`: the sizes of tensors in the forms that a machine's storage study knows, and
// (--backside) whether the unit behind a machine's PEs that brings outputs into the stored form keeps up.
// docs/output.md describes JSON and CSV; the study says which forms, counts and measures there are.
#pragma once

#include <string>
#include <vector>

#include "base/text/csv.hpp"
#include "base/text/json.hpp"
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

// A title and a table: one row per layer and operation.
std::string backside_table(const BacksideLoads& loads, const TextStyle& style);
// One table of totals: one row per trace and operation.
std::string backside_summary(const std::vector<BacksideLoads>& loads, const TextStyle& style);
std::string backside_to_json(const std::vector<BacksideLoads>& loads);
std::string backside_to_csv(const std::vector<BacksideLoads>& loads);

// Returns an object with the subject's fields, to which a study adds its own.
Json subject_json(const StudySubject& subject);
void append_setting(Json& object, const StudySetting& setting);
// Returns the cells `trace,model,progress`.
CsvRow subject_csv(const StudySubject& subject);

}  // namespace lacuna
