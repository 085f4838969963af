// Documents that follow from the table of fields: parts of the JSON schema and of docs/output.md, and the
// types of the page. They fail here if they are not what the table says; LACUNA_UPDATE=1 writes them.
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

#include "base/text/json.hpp"
#include "report/result/run_fields.hpp"
#include "sim/result_fields.hpp"

namespace lacuna {
namespace {

std::string read_document(const std::string& path) {
  std::ifstream file(LACUNA_SOURCE_DIR "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void check_document(const std::string& path, const std::string& wanted) {
  if (std::getenv("LACUNA_UPDATE") != nullptr) std::ofstream(LACUNA_SOURCE_DIR "/" + path) << wanted;
  EXPECT_TRUE(read_document(path) == wanted)
      << path << " is not what the tables of fields say: run this test with LACUNA_UPDATE=1";
}

// Cycles may be 0 or not known, and so is a ratio of them.
template <typename AnyField>
bool may_be_null(const AnyField& field) {
  return field.optional || !field.numerator.empty();
}

// ---- JSON schema ----

// Markdown without links and marks.
std::string plain(std::string_view markdown) {
  std::string text = std::regex_replace(std::string(markdown), std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
  std::erase(text, '`');
  return text;
}

template <typename AnyField>
Json field_schema(const AnyField& field, bool of_totals) {
  Json schema;
  if (field.kind == FieldKind::kWord) schema["enum"] = field.words;
  if (field.kind == FieldKind::kCount) {
    schema = of_totals ? Json{{"type", "number"}, {"minimum", 0}} : Json{{"$ref", "#/$defs/count"}};
  }
  if (field.kind == FieldKind::kRatio) {
    schema = may_be_null(field) ? Json{{"$ref", "#/$defs/ratio"}} : Json{{"type", "number"}, {"minimum", 0}};
  }
  if (field.kind == FieldKind::kActivity) schema["$ref"] = "#/$defs/activity";
  if (field.kind == FieldKind::kCounters) {
    schema["type"] = "object";
    schema["additionalProperties"]["$ref"] = "#/$defs/count";
  }
  if (field.kind == FieldKind::kMapping) {
    schema["type"] = "object";
    schema["additionalProperties"]["type"] = Json{"string", "integer"};
  }
  schema["description"] = plain(field.meaning);
  return schema;
}

// Adds the fields to an object's `properties`, and to `required` those that are always there.
template <typename Fields>
void add_fields(Json& schema, const Fields& fields, bool of_totals = false) {
  for (const auto& field : fields) {
    if (of_totals && field.total == nullptr) continue;
    schema["properties"][std::string(field.name)] = field_schema(field, of_totals);
    if (!field.optional) schema["required"].push_back(field.name);
  }
}

Json object_schema(const std::string& description) {
  return {{"description", description},
          {"type", "object"},
          {"required", Json::array()},
          {"additionalProperties", false},
          {"properties", Json::object()}};
}

Json head_schema(const HeadField& field) {
  switch (field.kind) {
    case HeadKind::kText:
      return {{"type", "string"}};
    case HeadKind::kEngine:
      return {{"enum", {"fast", "functional"}}};
    case HeadKind::kNumber:
      return {{"type", "number"}};
    case HeadKind::kAmount:
      return {{"type", "number"}, {"minimum", 0}};
    case HeadKind::kShare:
      return {{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
    case HeadKind::kCount:
      return {{"type", "integer"}, {"minimum", 0}};
    case HeadKind::kPositive:
      return {{"type", "integer"}, {"minimum", 1}};
    case HeadKind::kLeftOut:
      return {{"type", "array"}, {"items", {{"$ref", "#/$defs/left_out"}}}};
    case HeadKind::kConfig:
      return {{"$ref", "#/$defs/config"}};
    case HeadKind::kBaseline:
      return {{"oneOf", {{{"$ref", "#/$defs/baseline"}}, {{"type", "null"}}}}};
  }
  return {};
}

// Calls each(field) for the fields of a step, or of a whole run.
template <typename Each>
void each_head(bool whole_run, const Each& each) {
  RunResult run;
  const auto visit = [&](const HeadField& field, const auto&) { each(field); };
  whole_run ? each_run_field(run, visit) : each_step_field(run.trace, run.info, run.batch, visit);
}

// Puts the fields in front of those of the object that are not in the lists.
void put_head(Json& object, bool whole_run) {
  Json properties, required;
  each_head(whole_run, [&](const HeadField& field) {
    Json& schema = properties[std::string(field.name)] = head_schema(field);
    schema["description"] = plain(field.meaning);
    if (!field.optional) required.push_back(field.name);
  });
  for (const auto& [name, schema] : object["properties"].items()) {
    if (properties.contains(name)) continue;
    properties[name] = schema;
    if (std::ranges::count(object["required"], Json(name)) > 0) required.push_back(name);
  }
  object["properties"] = properties;
  object["required"] = required;
}

TEST(ResultDocuments, InspectSchema) {
  const std::string path = "docs/schema/inspect-v1.schema.json";
  Json schema = Json::parse(read_document(path));
  put_head(schema["$defs"]["trace"], false);
  check_document(path, schema.dump(2) + "\n");
}

TEST(ResultDocuments, Schema) {
  const std::string path = "docs/schema/result-v2.schema.json";
  Json schema = Json::parse(read_document(path));
  Json& definitions = schema["$defs"];
  put_head(definitions["run"], true);
  definitions["op"] = object_schema("an operation of a layer, of the samples recorded");
  add_fields(definitions["op"], kOpFields);
  definitions["activity"] = object_schema(
      "samples_ is traffic of activations and their gradients, weights_ of weights and theirs, which move "
      "once per batch");
  add_fields(definitions["activity"], kActivityFields);
  definitions["sum"] = object_schema("of several operations");
  add_fields(definitions["sum"], kOpFields, true);
  for (const char* name : {"energy_pair", "op_energy"}) {
    Json& energy = definitions[name];
    Json kept;
    for (const auto& [key, value] : energy["properties"].items()) {
      if (std::ranges::find(kEnergyFields, key, &EnergyField::name) == kEnergyFields.end()) kept[key] = value;
    }
    energy["properties"] = kept;
    energy["required"] = Json::array();
    for (const auto& [key, value] : kept.items()) energy["required"].push_back(key);
    add_fields(energy, kEnergyFields);
  }
  check_document(path, schema.dump(2) + "\n");
}

// ---- docs/output.md ----

template <typename AnyField>
std::string meaning_text(const AnyField& field) {
  std::string text(field.meaning);
  if (!field.numerator.empty()) text = fmt::format("`{} / {}`: {}", field.numerator, field.denominator, text);
  if (field.kind == FieldKind::kWord && text.find('`') == std::string::npos) {
    text += ':';
    for (const std::string_view word : field.words)
      text += fmt::format("{} `{}`", word == field.words.front() ? "" : ",", word);
  }
  if (field.scope == FieldScope::kBatch) text += "; once per batch";
  return text;
}

template <typename Fields>
std::string table(const Fields& fields) {
  std::string text = "| field | unit | meaning |\n|---|---|---|\n";
  for (const auto& field : fields)
    text += fmt::format("| `{}` | {} | {} |\n", field.name, field.unit, meaning_text(field));
  return text;
}

std::string head_table() {
  std::string text = "| field | meaning |\n|---|---|\n";
  each_head(true, [&](const HeadField& field) {
    const bool told = field.meaning.find("absent") != std::string_view::npos;
    text += fmt::format("| `{}` | {}{} |\n", field.name, field.meaning,
                        field.optional && !told ? "; absent if not known" : "");
  });
  return text;
}

void replace_part(std::string& document, const std::string& name, const std::string& part) {
  const std::string begin = fmt::format("<!-- fields of {} -->\n", name);
  const std::string end = "<!-- end of fields -->\n";
  const std::size_t from = document.find(begin);
  ASSERT_NE(from, std::string::npos) << name;
  const std::size_t first = from + begin.size();
  const std::size_t last = document.find(end, first);
  ASSERT_NE(last, std::string::npos) << name;
  document.replace(first, last - first, part);
}

TEST(ResultDocuments, Tables) {
  const std::string path = "docs/output.md";
  std::string document = read_document(path);
  replace_part(document, "a run", head_table());
  replace_part(document, "an operation", table(kOpFields));
  replace_part(document, "an activity", table(kActivityFields));
  check_document(path, document);
}

// ---- types of the page ----

template <typename AnyField>
std::string type_text(const AnyField& field) {
  switch (field.kind) {
    case FieldKind::kCount:
      return "number";
    case FieldKind::kRatio:
      return may_be_null(field) ? "number | null" : "number";
    case FieldKind::kCounters:
      return "Record<string, number>";
    case FieldKind::kMapping:
      return "Record<string, string | number>";
    case FieldKind::kActivity:
      return "Activity";
    case FieldKind::kWord:
      break;
  }
  std::string words;
  for (const std::string_view word : field.words)
    words += fmt::format("{}\"{}\"", words.empty() ? "" : " | ", word);
  return words;
}

template <typename Fields>
std::string interface(const std::string& name, const Fields& fields, bool of_totals = false) {
  std::string text = fmt::format("\nexport interface {} {{\n", name);
  for (const auto& field : fields) {
    if (of_totals && field.total == nullptr) continue;
    text += fmt::format("  {}{}: {};\n", field.name, field.optional ? "?" : "", type_text(field));
  }
  return text + "}\n";
}

std::string head_type(HeadKind kind) {
  switch (kind) {
    case HeadKind::kText:
      return "string";
    case HeadKind::kEngine:
      return R"("fast" | "functional")";
    case HeadKind::kLeftOut:
      return "{ name: string; type: string; macs: number | null }[]";
    case HeadKind::kConfig:
      return "Config";
    case HeadKind::kBaseline:
      return "{ arch: string; config: Config } | null";
    default:
      return "number";
  }
}

// A step, and what a run has besides.
std::string head_interfaces() {
  std::set<std::string_view> of_step;
  std::string text = "\nexport interface StepInfo {\n";
  const auto add = [&](const HeadField& field) {
    text += fmt::format("  {}{}: {};\n", field.name, field.optional ? "?" : "", head_type(field.kind));
  };
  each_head(false, [&](const HeadField& field) {
    of_step.insert(field.name);
    add(field);
  });
  text += "}\n\nexport interface RunHead extends StepInfo {\n";
  each_head(true, [&](const HeadField& field) {
    if (!of_step.contains(field.name)) add(field);
  });
  return text + "}\n";
}

TEST(ResultDocuments, Types) {
  check_document("web/src/result_fields.ts",
                 "// Fields of results, written from src/sim/result_fields.hpp and "
                 "src/report/result/run_fields.hpp: see\n"
                 "// result_documents_test.cpp.\n\n"
                 "export type Config = Record<string, string | number | boolean>;\n" +
                     head_interfaces() + interface("Cycles", kOpFields, true) +
                     interface("OpResult", kOpFields) + interface("Activity", kActivityFields) +
                     interface("Efficiencies", kEnergyFields));
}

}  // namespace
}  // namespace lacuna
