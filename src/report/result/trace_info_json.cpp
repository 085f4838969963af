#include "report/result/trace_info_json.hpp"

namespace lacuna {
namespace {

struct NumberField {
  const char* name;
  std::optional<double> TraceInfo::*member;
};
constexpr NumberField kNumbers[]{{"progress", &TraceInfo::progress},
                                 {"epoch", &TraceInfo::epoch},
                                 {"accuracy", &TraceInfo::accuracy},
                                 {"loss", &TraceInfo::loss}};

}  // namespace

Json trace_info_json(const std::string& path, const TraceInfo& info, std::int64_t batch) {
  Json object{{"trace", path}, {"model", info.model}};
  if (!info.dataset.empty()) object["dataset"] = info.dataset;
  for (const auto& [name, member] : kNumbers) {
    if (info.*member) object[name] = number_json(*(info.*member));
  }
  if (info.samples) object["samples"] = *info.samples;
  if (info.recorded_share) object["recorded_share"] = number_json(*info.recorded_share);
  for (const LeftOut& part : info.left_out) {
    object["left_out"].push_back(
        {{"name", part.name}, {"type", part.type}, {"macs", part.macs ? Json(*part.macs) : Json()}});
  }
  object["batch"] = batch;
  return object;
}

TraceInfo read_trace_info(const JsonReader& source) {
  TraceInfo info;
  info.model = source.text("model");
  info.dataset = source.text_or_empty("dataset");
  for (const auto& [name, member] : kNumbers) info.*member = source.number_if_there(name);
  if (source.find("samples") != nullptr) info.samples = source.count("samples");
  info.recorded_share = source.number_if_there("recorded_share");
  if (const auto share = info.recorded_share; share && !(*share >= 0 && *share <= 1))
    source.fail("'recorded_share' is not a number from 0 to 1");
  if (source.find("left_out") == nullptr) return info;
  const auto& list = source.list("left_out");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonReader part = source.entry(list[i], "left_out", i);
    LeftOut& read = info.left_out.emplace_back(LeftOut{part.text("name"), part.text("type"), {}});
    if (!part.get("macs").is_null()) read.macs = part.count("macs");
  }
  return info;
}

}  // namespace lacuna
