#include "cli/commands/train_config.hpp"

#include <nlohmann/json.hpp>

#include "base/version.hpp"

namespace lacuna::cli {
namespace {

using nlohmann::ordered_json;

ordered_json pruning_json(const TrainCommand& command) {
  const train::PruningOptions& prune = command.options.pruning;
  if (prune.method == train::PruningOptions::Method::kNone) return nullptr;
  ordered_json json{{"method", command.prune}, {"zeros", prune.zeros}, {"every", prune.every},
                    {"until", prune.until},    {"move", prune.move},   {"as_drawn", prune.as_drawn}};
  if (prune.growth_steps > 0) json["growth_steps"] = prune.growth_steps;
  return json;
}

ordered_json sparsify_json(const train::SparsifyOptions& sparsify) {
  if (sparsify.method == train::SparsifyOptions::Method::kNone) return nullptr;
  ordered_json json{{"method", sparsify_name(sparsify.method)}, {"density", sparsify.density}};
  if (sparsify.reuses()) json["warmup"] = sparsify.warmup;
  return json;
}

// What was asked for; null: what there is.
ordered_json asked(std::int64_t value) { return value > 0 ? ordered_json(value) : ordered_json(nullptr); }

ordered_json data_json(const TrainCommand& command, const dataset::DatasetPair& data) {
  const dataset::ImageShape image = data.train->shape();
  return {{"set", command.setup.data},
          {"name", data.train->name()},
          {"seed", command.setup.data_options.seed},
          {"size", asked(command.setup.data_options.image_size)},
          {"train_size", asked(command.setup.data_options.train_size)},
          {"test_size", asked(command.setup.data_options.test_size)},
          {"train_images", data.train->size()},
          {"test_images", data.test->size()},
          {"channels", image.channels},
          {"height", image.height},
          {"width", image.width},
          {"classes", data.train->classes().size()},
          {"flip", command.options.flip},
          {"crop", command.options.crop_padding}};
}

}  // namespace

std::string train_config_json(const TrainCommand& command, const train::ModelSettings& model,
                              const dataset::DatasetPair& data, const train::Network& network,
                              const train::Settings& settings) {
  const train::TrainOptions& options = command.options;
  std::string fingerprint;
  for (const auto& [key, value] : settings)
    if (key == "network") fingerprint = value;
  ordered_json config{
      {"schema", kTrainConfigSchema},
      {"lacuna", version()},
      {"model", command.setup.model},
      {"model_settings", model},
      {"network", fingerprint},
      {"parameters", network.graph().parameters()},
      {"data", data_json(command, data)},
      {"kernels", command.setup.kernels},
      {"precision", command.setup.precision},
      {"exact", !network.options().allow_winograd},
      {"threads", network.options().threads},
      {"batch", command.setup.batch},
      {"steps", command.steps},
      {"seed", options.seed},
      {"lr", options.schedule.rate},
      {"schedule", command.schedule},
      {"warmup", options.schedule.warmup},
      {"momentum", options.sgd.momentum},
      {"weight_decay", options.sgd.weight_decay},
      {"prune", pruning_json(command)},
      {"sparsify", sparsify_json(network.options().sparsify)},
      {"selective_backprop", network.options().learnt_samples < 1
                                 ? ordered_json(network.options().learnt_samples)
                                 : ordered_json(nullptr)},
      {"quantize", asked(network.options().quantize_bits)},
      {"init", command.initial.empty() ? ordered_json(nullptr) : ordered_json(command.initial)},
      {"report_every", command.report_every},
      {"test_every", command.test_every},
      {"checkpoint_every", command.checkpoint_every},
      {"record_every", command.record_every},
      {"record_samples", command.record.samples},
      {"record_values", command.record.values},
      {"log", {{"file", "log.csv"}, {"schema", kTrainLogSchema}}}};
  // The name of a file may hold any bytes.
  return config.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace lacuna::cli
