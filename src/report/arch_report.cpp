#include "report/arch_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "base/io/embedded_file.hpp"
#include "base/text/json.hpp"
#include "base/version.hpp"

namespace lacuna {
namespace {

// Wrapped lines, each after the first with the indent in front.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  return fmt::format("{}", fmt::join(wrapped_lines(text, width), fmt::format("\n{}", indent)));
}

std::string_view kind_name(ParamSpec::Kind kind) {
  switch (kind) {
    case ParamSpec::Kind::kInteger:
      return "integer";
    case ParamSpec::Kind::kNumber:
      return "number";
    case ParamSpec::Kind::kFlag:
      return "flag";
    case ParamSpec::Kind::kText:
      return "text";
  }
  return "";
}

Json typed(ParamSpec::Kind kind, const std::string& value) {
  switch (kind) {
    case ParamSpec::Kind::kInteger:
      return std::stoll(value);
    case ParamSpec::Kind::kNumber:
      return std::stod(value);
    case ParamSpec::Kind::kFlag:
      return value == "on";
    case ParamSpec::Kind::kText:
      return value;
  }
  return nullptr;
}

Json summary_json(const Machine& machine) {
  const bool configuration = !machine.origin.empty();
  return {{"name", machine.name},
          {"kind", configuration ? "configuration" : "model"},
          {"base", machine.model->name},
          {"summary", machine.summary},
          {"paper", machine.model->paper}};
}

}  // namespace

std::string changed_parameters(const Params& params) {
  std::string text;
  for (const auto& [name, value] : params.values()) {
    if (params.is_default(name)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

std::string arch_list_text(const ArchCatalog& catalog, const TextStyle& style) {
  TextTable table({{"machine", Align::kLeft}, {"what it is", Align::kLeft}});
  for (const std::string& name : catalog.model_names()) table.add_row({name, catalog.find(name, "").summary});
  std::string text = table.render(style);
  if (catalog.config_names().empty()) return text;
  TextTable configurations({{"configuration", Align::kLeft},
                            {"of", Align::kLeft},
                            {"what it is", Align::kLeft},
                            {"it sets", Align::kLeft}});
  for (const std::string& name : catalog.config_names()) {
    const Machine machine = catalog.find(name, "");
    configurations.add_row({name, machine.model->name, machine.summary, changed_parameters(machine.params)});
  }
  return text + "\n" + configurations.render(style);
}

std::string arch_list_json(const ArchCatalog& catalog) {
  Json list = json_document(1);
  list["machines"] = Json::array();
  for (const std::string& name : catalog.names())
    list["machines"].push_back(summary_json(catalog.find(name, "")));
  return dump_json(list);
}

std::string arch_show_text(const Machine& machine, const TextStyle& style) {
  constexpr std::string_view kIndent = "      ";
  const auto width = static_cast<std::size_t>(std::clamp(style.width, 60, 100)) - kIndent.size();
  std::string text = fmt::format("{}: {}\n", bold_text(machine.name, style), machine.summary);
  if (machine.name != machine.model->name)
    text += fmt::format("A configuration of {}\n", machine.model->name);
  text += fmt::format("Paper: {}\n\nParameters (--set NAME=VALUE):\n", machine.model->paper);
  for (const ParamSpec& spec : machine.params.specs()) {
    std::string value;
    for (const auto& [name, set] : machine.params.values()) {
      if (name == spec.name) value = set;
    }
    text += fmt::format("  {} = {}{}{}", bold_text(spec.name, style), value, spec.unit.empty() ? "" : " ",
                        spec.unit);
    if (!machine.params.is_default(spec.name))
      text += fmt::format("  (changed; the default is {})", spec.default_value);
    text += fmt::format("\n{}allowed: {}\n", kIndent, wrapped(spec.allowed(), width, kIndent));
    const std::string help =
        spec.citation.empty() ? spec.help : fmt::format("{} [{}]", spec.help, spec.citation);
    text += fmt::format("{}{}\n", kIndent, wrapped(help, width, kIndent));
  }
  return text;
}

std::string arch_show_json(const Machine& machine) {
  Json show = json_document(1);
  show.update(summary_json(machine));
  show["params"] = Json::array();
  const auto values = machine.params.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ParamSpec& spec = machine.params.specs()[i];
    Json param{{"name", spec.name},
               {"kind", kind_name(spec.kind)},
               {"unit", spec.unit},
               {"value", typed(spec.kind, values[i].second)},
               {"default", typed(spec.kind, spec.default_value)},
               {"changed", !machine.params.is_default(spec.name)}};
    if (spec.kind == ParamSpec::Kind::kInteger) {
      param["min"] = static_cast<std::int64_t>(spec.min);
      param["max"] = static_cast<std::int64_t>(spec.max);
    } else if (spec.kind == ParamSpec::Kind::kNumber) {
      param["min"] = spec.min;
      param["max"] = spec.max;
    }
    if (!spec.choices.empty()) param["choices"] = spec.choices;
    param["allowed"] = spec.allowed();
    param["help"] = spec.help;
    param["citation"] = spec.citation;
    show["params"].push_back(std::move(param));
  }
  return dump_json(show);
}

std::span<const EmbeddedFile> embedded_papers();

std::string_view bibtex_entry(std::string_view key) {
  const std::string_view papers = embedded_papers().front().bytes;
  const std::size_t name = papers.find(fmt::format("{{{},\n", key));
  if (name == std::string_view::npos) return {};
  const std::size_t begin = papers.rfind('@', name);
  const std::size_t end = papers.find("\n}\n", name);
  return papers.substr(begin, end + 3 - begin);
}

std::string bibtex(std::span<const AcceleratorModel* const> models, std::string_view commit) {
  std::string text = fmt::format(
      "@software{{lacuna,\n"
      "  title = {{Lacuna: zeros in the training of neural networks, and machines that skip them}},\n"
      "  author = {{{{The Lacuna maintainers}}}}, version = {{{}}}{}, year = {{2026}}\n}}\n",
      version(), commit.empty() ? "" : fmt::format(", note = {{commit {}}}", commit));
  std::set<std::string_view> cited;
  for (const AcceleratorModel* model : models) {
    for (const std::string& key : model->cites)
      if (cited.insert(key).second) text += fmt::format("\n{}", bibtex_entry(key));
  }
  return text;
}

}  // namespace lacuna
