// What `lacuna inspect --storage` and `--backside` show. docs/models/tensordash-storage.md describes the
// fields of JSON and CSV.
#pragma once

#include <string>
#include <vector>

#include "models/tensordash/storage/backside_scheduler.hpp"
#include "models/tensordash/storage/storage_footprint.hpp"
#include "report/text_table.hpp"

namespace lacuna {

// A title and a table: a row a layer and tensor, then the totals of the batch trained with. Formats are
// ratios to dense form.
std::string storage_table(const tensordash::TraceStorageReport& report, DataType type,
                          const TextStyle& style);
// One table with a row a trace and tensor: the totals.
std::string storage_summary(const std::vector<tensordash::TraceStorageReport>& reports, DataType type,
                            const TextStyle& style);
std::string storage_to_json(const std::vector<tensordash::TraceStorageReport>& reports);
std::string storage_to_csv(const std::vector<tensordash::TraceStorageReport>& reports);

// A title and a table: a row a layer and operation; the totals.
std::string backside_table(const tensordash::BacksideReport& report, const TextStyle& style);
std::string backside_summary(const std::vector<tensordash::BacksideReport>& reports, const TextStyle& style);
std::string backside_to_json(const std::vector<tensordash::BacksideReport>& reports);
std::string backside_to_csv(const std::vector<tensordash::BacksideReport>& reports);

}  // namespace lacuna
