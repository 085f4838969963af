// Fields that the reports of storage studies share: the trace and the machine that were studied.
#pragma once

#include "base/text/csv.hpp"
#include "base/text/json.hpp"
#include "sim/storage_study.hpp"

namespace lacuna {

// Returns an object with the subject's fields, to which a study adds its own.
Json subject_json(const StudySubject& subject);
void append_setting(Json& object, const StudySetting& setting);
// Returns the cells `trace,model,progress`.
CsvRow subject_csv(const StudySubject& subject);

}  // namespace lacuna
