// A model's settings from what the user gave and what the data need.
#pragma once

#include <string>
#include <vector>

#include "dataset/dataset.hpp"
#include "train/graph/model_file.hpp"

namespace lacuna::train {

// Parses `assignments` (key=value) for `model`, a built-in model or a .yaml file, and adds size, channels,
// classes and stem of the data where they are not given. Throws InputError.
ModelSettings fit_model(const std::string& model, const std::vector<std::string>& assignments,
                        const dataset::Dataset& data);

// "classes=10 size=32"
std::string describe_settings(const ModelSettings& settings);

}  // namespace lacuna::train
