// What the reports of storage studies share: the fields that say what was studied.
#pragma once

#include <string>

#include "sim/storage_study.hpp"

namespace lacuna {

// The lines `"trace": ..., "model": ..., ...` of an entry of a JSON document, up to the study's own fields.
std::string subject_json(const StudySubject& subject);
// `"lanes": 16`, as text of JSON.
std::string setting_json(const StudySetting& setting);
// The cells `trace,model,progress` of a row of CSV.
std::string subject_csv(const StudySubject& subject);

}  // namespace lacuna
