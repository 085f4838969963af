#include "report/study/storage_report.hpp"

namespace lacuna {

Json subject_json(const StudySubject& subject) {
  Json object{{"trace", subject.path}, {"model", subject.info.model}};
  if (subject.info.progress) object["progress"] = number_json(*subject.info.progress);
  object["batch"] = subject.batch;
  object["arch"] = subject.arch;
  return object;
}

void append_setting(Json& object, const StudySetting& setting) {
  std::visit([&](const auto& value) { object[setting.name] = value; }, setting.value);
}

CsvRow subject_csv(const StudySubject& subject) {
  CsvRow row;
  row.text(subject.path).text(subject.info.model).number(subject.info.progress);
  return row;
}

}  // namespace lacuna
