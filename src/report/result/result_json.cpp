#include "report/result/result_json.hpp"

#include "base/text/json.hpp"
#include "report/result/run_fields.hpp"
#include "sim/result_fields.hpp"

namespace lacuna {
namespace {

Json value_json(const FieldValue& value);

// The fields of a record that have a value.
template <typename Fields, typename View>
Json record_json(const Fields& fields, const View& record) {
  Json object = Json::object();
  for (const auto& field : fields) {
    const FieldValue value = field.get(record);
    if (!std::holds_alternative<std::monostate>(value)) object[std::string(field.name)] = value_json(value);
  }
  return object;
}

struct ValueJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::int64_t count) const { return count; }
  Json operator()(double ratio) const { return number_json(ratio); }
  Json operator()(std::string_view word) const { return word; }
  Json operator()(const std::vector<Counter>* counters) const {
    Json object = Json::object();
    for (const Counter& counter : *counters) object[counter.name] = counter.value;
    return object;
  }
  Json operator()(const Activity* activity) const { return record_json(kActivityFields, *activity); }
  Json operator()(const std::vector<MappingChoice>* mapping) const {
    Json object = Json::object();
    for (const MappingChoice& choice : *mapping)
      std::visit([&](const auto& value) { object[choice.name] = value; }, choice.value);
    return object;
  }
};
Json value_json(const FieldValue& value) { return std::visit(ValueJson{}, value); }

Json layers_json(const RunResult& run) {
  Json list = Json::array();
  for (std::size_t l = 0; l < run.layers.size(); ++l) {
    const LayerResult& layer = run.layers[l];
    Json ops = Json::array();
    for (std::size_t o = 0; o < layer.ops.size(); ++o)
      ops.push_back(record_json(kOpFields, OpView{layer.ops[o], run.baseline_op(l, o)}));
    list.push_back({{"name", layer.name},
                    {"shape", layer.shape},
                    {"batch_scale", number_json(layer.batch_scale)},
                    {"ops", std::move(ops)}});
  }
  return list;
}

Json totals_json(const Totals& totals) {
  Json object;
  for (const Operation op : kOperations) object[std::string(operation_name(op))] = cycles_json(totals.of(op));
  object["all"] = cycles_json(totals.all);
  return object;
}

Json run_json(const RunResult& run, const RunEnergy* energy, bool energy_layers) {
  Json object = run_head_json(run);
  object["layers"] = layers_json(run);
  object["total"] = totals_json(run.total());
  if (energy != nullptr && !energy->layers.empty()) {
    object["energy"] = energy_json(*energy, energy_layers);
    object["power"] = power_json(*energy);
    if (energy->area) object["area"] = area_json(*energy->area);
  }
  object["per_batch"] = totals_json(run.per_batch());
  return object;
}

}  // namespace

Json cycles_json(const CycleComparison& cycles) {
  Json object;
  for (const OpField& field : kOpFields) {
    if (field.total != nullptr) object[std::string(field.name)] = number_json(field.total(cycles));
  }
  return object;
}

std::string results_to_json(const SimulationOutcome& outcome, bool energy_layers) {
  Json document = json_document(kResultSchema);
  Json& list = document["runs"] = Json::array();
  for (std::size_t i = 0; i < outcome.runs.size(); ++i) {
    const RunEnergy* energy = outcome.energies.empty() ? nullptr : &outcome.energies[i];
    list.push_back(run_json(outcome.runs[i], energy, energy_layers));
  }
  return dump_json(document);
}

}  // namespace lacuna
