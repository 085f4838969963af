// config.json of a training run: what it was asked to do, for people and programs
// (docs/schema/train-config-v1.schema.json), and for --resume.
#pragma once

#include <filesystem>
#include <string>

#include "train/run/train_spec.hpp"

namespace lacuna::train {

inline constexpr int kRunConfigSchema = 1;
inline constexpr int kTrainLogSchema = 1;  // of log.csv: docs/schema/train-log-v1.schema.json

// Returns the text of config.json for a spec that is settled.
std::string run_config_json(const TrainSpec& spec, const ModelSettings& model,
                            const dataset::DatasetPair& data, const Graph& graph, const Settings& checkpoint);

// Sets every option that was not given to its value in the run that `spec` resumes, as if it had been given.
// Throws InputError, with both values, if an option that decides what is learnt was given another one.
// Without a config.json nothing is set: then the checkpoint refuses options that differ.
void take_over_config(TrainSpec& spec);

// Returns true if the run in the folder is that of a demo, which another demo may overwrite.
bool is_demo(const std::filesystem::path& folder);

}  // namespace lacuna::train
