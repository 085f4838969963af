// config.json of a training run: everything that it was asked to do, for people and programs
// (docs/schema/train-config-v1.schema.json).
#pragma once

#include <string>

#include "cli/commands/train_options.hpp"

namespace lacuna::cli {

inline constexpr int kTrainConfigSchema = 1;
inline constexpr int kTrainLogSchema = 1;  // of log.csv: docs/schema/train-log-v1.schema.json

// `command` with its defaults filled in.
std::string train_config_json(const TrainCommand& command, const train::ModelSettings& model,
                              const dataset::DatasetPair& data, const train::Network& network,
                              const train::Settings& settings);

}  // namespace lacuna::cli
