#include "cli/train_setup.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/params.hpp"

namespace lacuna::cli {

train::Kernels parse_kernels(const std::string& name) {
  for (const train::Kernels kernels :
       {train::Kernels::kDense, train::Kernels::kSparse, train::Kernels::kAuto})
    if (name == kernels_name(kernels)) return kernels;
  throw InputError("--kernels " + name, "there are no such kernels",
                   suggest(name, {"dense", "sparse", "auto"}));
}

train::ModelSettings fit_model(const TrainSetup& setup, const dataset::Dataset& data) {
  constexpr int kSmallImages = 64;
  train::ModelSettings settings;
  for (const std::string& text : setup.model_settings) {
    const auto [key, value] = split_assignment(text, "--set");
    settings[key] = value;
  }
  const dataset::ImageShape image = data.shape();
  settings.try_emplace("size", std::to_string(image.height));
  settings.try_emplace("channels", std::to_string(image.channels));
  settings.try_emplace("classes", std::to_string(data.classes().size()));
  const train::ModelSummary summary = train::summarize_model(train::model_text(setup.model), setup.model);
  for (const train::ModelParameter& parameter : summary.parameters)
    if (parameter.name == "stem" && image.height <= kSmallImages) settings.try_emplace("stem", "cifar");
  return settings;
}

std::string describe_settings(const train::ModelSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  return text;
}

}  // namespace lacuna::cli
