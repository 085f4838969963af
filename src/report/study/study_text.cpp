#include "report/study/study_text.hpp"

#include <fmt/format.h>

#include "base/text/csv_text.hpp"
#include "report/result/json_text.hpp"

namespace lacuna {

std::string subject_json(const StudySubject& subject) {
  std::string text;
  const auto field = [&](std::string_view name, std::string_view json) {
    text += fmt::format("      \"{}\": {},\n", name, json);
  };
  field("trace", json_string(subject.path));
  field("model", json_string(subject.info.model));
  if (subject.info.progress) field("progress", json_number(*subject.info.progress));
  field("batch", std::to_string(subject.batch));
  field("arch", json_string(subject.arch));
  return text;
}

std::string setting_json(const StudySetting& setting) {
  const auto* text = std::get_if<std::string>(&setting.value);
  return fmt::format(
      "{}: {}", json_string(setting.name),
      text != nullptr ? json_string(*text) : std::to_string(std::get<std::int64_t>(setting.value)));
}

std::string subject_csv(const StudySubject& subject) {
  return fmt::format("{},{},{}", csv_text(subject.path), csv_text(subject.info.model),
                     subject.info.progress ? json_number(*subject.info.progress) : "");
}

}  // namespace lacuna
