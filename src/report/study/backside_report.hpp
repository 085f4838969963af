// Report of `lacuna storage --backside`: whether the unit behind a machine's PEs that brings outputs into
// the stored form keeps up. docs/output.md describes JSON and CSV; the study says what is measured.
#pragma once

#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/storage_study.hpp"

namespace lacuna {

// A title and a table: one row per layer and operation.
std::string backside_table(const BacksideLoads& loads, const TextStyle& style);
// One table of totals: one row per trace and operation.
std::string backside_summary(const std::vector<BacksideLoads>& loads, const TextStyle& style);
std::string backside_to_json(const std::vector<BacksideLoads>& loads);
std::string backside_to_csv(const std::vector<BacksideLoads>& loads);

}  // namespace lacuna
