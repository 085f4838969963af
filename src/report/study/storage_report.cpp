#include "report/study/storage_report.hpp"

#include <fmt/format.h>

#include "report/result/result_tables.hpp"
#include "report/short_text.hpp"

namespace lacuna {
namespace {

// Share of zeros over the batch: of one tensor of the layers, or of all.
double zero_share(const StorageSizes& sizes, const TraceTensor* which) {
  double elements = 0;
  double nonzeros = 0;
  for (const auto& layer : sizes.layers) {
    for (const StoredTensorSize& tensor : layer.tensors) {
      if (which != nullptr && tensor.which != *which) continue;
      elements += static_cast<double>(tensor.elements) * tensor.batch_scale;
      nonzeros += static_cast<double>(tensor.nonzeros) * tensor.batch_scale;
    }
  }
  return elements > 0 ? 1 - nonzeros / elements : 0;
}

// ---- tables ----

TextTable make_table(const char* first, const std::vector<StorageForm>& forms) {
  std::vector<TableColumn> columns{{.title = first, .align = Align::kLeft},
                                   {.title = "tensor", .align = Align::kLeft},
                                   {.title = "zeros %"},
                                   {.title = "dense bits"}};
  for (const StorageForm& form : forms) {
    if (!form.title.empty()) columns.push_back({.title = form.title, .group = form.group});
  }
  return TextTable(std::move(columns));
}

void add_row(TextTable& table, std::string first, std::string_view tensor, double zeros,
             const std::vector<StorageForm>& forms, const std::vector<double>& bits) {
  const double dense = bits.front();
  std::vector<std::string> cells{std::move(first), std::string(tensor), percent_text(zeros),
                                 short_number(dense)};
  for (std::size_t f = 0; f < forms.size(); ++f) {
    if (!forms[f].title.empty()) cells.push_back(dense > 0 ? fmt::format("{:.3f}", bits[f] / dense) : "");
  }
  table.add_row(std::move(cells));
}

void add_totals(TextTable& table, const std::string& name, const StorageSizes& sizes, DataType type) {
  for (const TraceTensor which : sizes.tensors()) {
    add_row(table, which == TraceTensor(Operand::kA) ? name : "", which.name(), zero_share(sizes, &which),
            sizes.forms, sizes.total(which, type));
  }
  add_row(table, "", "all", zero_share(sizes, nullptr), sizes.forms, sizes.total(type));
}

std::string subtitle(const StorageSizes& sizes, DataType type, const TextStyle& style) {
  return dim_text(
             fmt::format("{}, {} values; {}", sizes.subject.arch, data_type_name(type), sizes.description),
             style) +
         "\n";
}

// ---- JSON ----

Json bits_json(const std::vector<StorageForm>& forms, const std::vector<double>& bits) {
  Json object;
  for (std::size_t f = 0; f < forms.size(); ++f) object[forms[f].name] = number_json(bits[f]);
  return object;
}

std::string bits_name(DataType type) { return fmt::format("{}_bits", data_type_name(type)); }

Json tensor_json(const StorageSizes& sizes, const StoredTensorSize& tensor) {
  Json object{{"tensor", tensor.which.name()},
              {"batch_scale", number_json(tensor.batch_scale)},
              {"elements", tensor.elements},
              {"nonzeros", tensor.nonzeros}};
  for (std::size_t c = 0; c < tensor.counts.size(); ++c) object[sizes.count_names[c]] = tensor.counts[c];
  for (const DataType type : kRecordedTypes)
    object[bits_name(type)] = bits_json(sizes.forms, tensor.bits.at(type));
  return object;
}

Json totals_json(const StorageSizes& sizes) {
  Json object;
  const auto add = [&](const char* name, const TraceTensor* which) {
    Json& of = object[name];
    of["zeros"] = number_json(zero_share(sizes, which));
    for (const DataType type : kRecordedTypes)
      of[bits_name(type)] =
          bits_json(sizes.forms, which != nullptr ? sizes.total(*which, type) : sizes.total(type));
  };
  for (const TraceTensor which : sizes.tensors()) add(which.name(), &which);
  add("all", nullptr);
  return object;
}

Json trace_json(const StorageSizes& sizes) {
  Json object = subject_json(sizes.subject);
  Json& form = object["form"] = Json::object();
  for (const StudySetting& setting : sizes.settings) append_setting(form, setting);
  Json& layers = object["layers"] = Json::array();
  for (const auto& layer : sizes.layers) {
    Json tensors = Json::array();
    for (const StoredTensorSize& tensor : layer.tensors) tensors.push_back(tensor_json(sizes, tensor));
    layers.push_back({{"name", layer.name}, {"shape", layer.shape}, {"tensors", std::move(tensors)}});
  }
  object["per_batch"] = totals_json(sizes);
  return object;
}

}  // namespace

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

std::string storage_table(const StorageSizes& sizes, DataType type, const TextStyle& style) {
  TextTable table = make_table("layer", sizes.forms);
  for (const auto& layer : sizes.layers) {
    for (const StoredTensorSize& tensor : layer.tensors) {
      const double zeros =
          static_cast<double>(tensor.elements - tensor.nonzeros) / static_cast<double>(tensor.elements);
      add_row(table, &tensor == &layer.tensors.front() ? layer.name : "", tensor.which.name(), zeros,
              sizes.forms, tensor.bits.at(type));
    }
  }
  table.add_rule();
  add_totals(table, fmt::format("batch of {}", sizes.subject.batch), sizes, type);
  return bold_text(printable(trace_title(sizes.subject.info)), style) + "\n" + subtitle(sizes, type, style) +
         table.render(style);
}

std::string storage_summary(const std::vector<StorageSizes>& sizes, DataType type, const TextStyle& style) {
  if (sizes.empty()) return "";
  TextTable table = make_table("one batch of", sizes.front().forms);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) table.add_rule();
    add_totals(table, trace_title(sizes[i].subject.info), sizes[i], type);
  }
  return subtitle(sizes.front(), type, style) + table.render(style);
}

std::string storage_to_json(const std::vector<StorageSizes>& sizes) {
  Json document = json_document(1);
  Json& list = document["storage"] = Json::array();
  for (const StorageSizes& entry : sizes) list.push_back(trace_json(entry));
  return dump_json(document);
}

std::string storage_to_csv(const std::vector<StorageSizes>& sizes) {
  if (sizes.empty()) return "";
  const auto text_of = [](const StudySetting& setting) { return std::get_if<std::string>(&setting.value); };
  CsvRow header;
  for (const char* name : {"trace", "model", "progress"}) header.text(name);
  for (const StudySetting& setting : sizes.front().settings)
    if (text_of(setting) != nullptr) header.text(setting.name);
  for (const char* name : {"layer", "shape", "tensor", "batch_scale", "values", "elements", "nonzeros"})
    header.text(name);
  for (const std::string& count : sizes.front().count_names) header.text(count);
  for (const StorageForm& form : sizes.front().forms) header.text(form.name);
  std::string text = header.line();
  for (const StorageSizes& entry : sizes) {
    CsvRow subject = subject_csv(entry.subject);
    for (const StudySetting& setting : entry.settings)
      if (const std::string* value = text_of(setting)) subject.text(*value);
    for (const auto& layer : entry.layers) {
      for (const StoredTensorSize& tensor : layer.tensors) {
        for (const DataType type : kRecordedTypes) {
          CsvRow row = subject;
          row.text(layer.name).text(layer.shape).text(tensor.which.name()).number(tensor.batch_scale);
          row.text(data_type_name(type)).number(tensor.elements).number(tensor.nonzeros);
          for (const std::int64_t count : tensor.counts) row.number(count);
          for (const double bits : tensor.bits.at(type)) row.number(bits);
          text += row.line();
        }
      }
    }
  }
  return text;
}

}  // namespace lacuna
