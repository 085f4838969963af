#include "report/result/run_fields.hpp"

#include <memory>
#include <optional>

namespace lacuna {
namespace {

// ---- to JSON: null for what is not known ----

Json head_json(const std::string& text) { return text; }
Json head_json(std::int64_t count) { return count; }
Json head_json(std::uint64_t count) { return count; }
Json head_json(const std::optional<std::int64_t>& count) { return count ? Json(*count) : Json(); }
Json head_json(const std::optional<double>& number) { return number ? number_json(*number) : Json(); }
Json head_json(const std::vector<LeftOut>& parts) {
  Json list;
  for (const LeftOut& part : parts)
    list.push_back({{"name", part.name}, {"type", part.type}, {"macs", head_json(part.macs)}});
  return list;
}
Json head_json(const std::vector<ConfigValue>& config) { return config_json(config); }
Json head_json(const std::shared_ptr<const RunResult>& baseline) {
  return baseline ? Json{{"arch", baseline->arch}, {"config", config_json(baseline->config)}} : Json();
}

auto write_to(Json& object) {
  return [&object](const HeadField& field, const auto& value) {
    Json written = head_json(value);
    const bool known = !written.is_null() && !(field.optional && written == "");
    if (known || !field.optional) object[std::string(field.name)] = std::move(written);
  };
}

// ---- from JSON ----

void read_head(const JsonReader& source, const HeadField& field, std::string& text) {
  text = source.text(field.name);
}
void read_head(const JsonReader& source, const HeadField& field, std::int64_t& count) {
  count = source.count(field.name);
}
void read_head(const JsonReader& source, const HeadField& field, std::uint64_t& count) {
  const nlohmann::json& value = source.get(field.name);
  if (!value.is_number_unsigned()) source.fail(fmt::format("'{}' is not an integer from 0", field.name));
  count = value.get<std::uint64_t>();
}
void read_head(const JsonReader& source, const HeadField& field, std::optional<std::int64_t>& count) {
  count = source.count(field.name);
}
void read_head(const JsonReader& source, const HeadField& field, std::optional<double>& number) {
  number = source.number(field.name);
  if (field.kind == HeadKind::kShare && !(*number >= 0 && *number <= 1))
    source.fail(fmt::format("'{}' is not a number from 0 to 1", field.name));
}
void read_head(const JsonReader& source, const HeadField& field, std::vector<LeftOut>& parts) {
  const nlohmann::json& list = source.list(field.name);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonReader part = source.entry(list[i], field.name, i);
    LeftOut& read = parts.emplace_back(LeftOut{part.text("name"), part.text("type"), {}});
    if (!part.get("macs").is_null()) read.macs = part.count("macs");
  }
}
void read_head(const JsonReader& source, const HeadField& field, std::vector<ConfigValue>& values) {
  const nlohmann::json& config = source.get(field.name);
  if (!config.is_object()) source.fail(fmt::format("'{}' is not an object", field.name));
  for (const auto& [name, value] : config.items()) {
    if (value.is_string()) {
      values.push_back({name, value.get<std::string>(), ParamSpec::Kind::kText});
    } else if (value.is_boolean()) {
      values.push_back({name, value.get<bool>() ? "on" : "off", ParamSpec::Kind::kFlag});
    } else if (value.is_number_integer()) {
      values.push_back({name, value.dump(), ParamSpec::Kind::kInteger});
    } else if (value.is_number()) {
      values.push_back({name, fmt::format("{}", value.get<double>()), ParamSpec::Kind::kNumber});
    } else {
      source.fail(
          fmt::format("'{}': {} is neither a number nor text nor a flag", field.name, quote_name(name)));
    }
  }
}
void read_head(const JsonReader& source, const HeadField& field, std::shared_ptr<const RunResult>& machine) {
  if (source.get(field.name).is_null()) return;
  const JsonReader at = source.object(field.name);
  auto baseline = std::make_shared<RunResult>();
  baseline->arch = baseline->base = at.text("arch");
  read_head(at, {"config"}, baseline->config);
  machine = std::move(baseline);
}

}  // namespace

Json config_json(const std::vector<ConfigValue>& config) {
  Json object = Json::object();
  for (const ConfigValue& entry : config) {
    Json& value = object[entry.name];
    if (entry.kind == ParamSpec::Kind::kText) {
      value = entry.value;
    } else if (entry.kind == ParamSpec::Kind::kFlag) {
      value = entry.value == "on";
    } else {
      value = Json::parse(entry.value);
    }
  }
  return object;
}

Json step_json(const std::string& trace, const TraceInfo& info, std::int64_t batch) {
  Json object;
  each_step_field(trace, info, batch, write_to(object));
  return object;
}

Json run_head_json(const RunResult& run) {
  Json object;
  each_run_field(run, write_to(object));
  return object;
}

void read_run_head(const JsonReader& source, RunResult& run) {
  each_run_field(run, [&](const HeadField& field, auto& value) {
    if (!field.optional || source.find(field.name) != nullptr) read_head(source, field, value);
  });
}

}  // namespace lacuna
