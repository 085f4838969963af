#include "train/run/fit_model.hpp"

#include <fmt/format.h>

#include "base/params.hpp"

namespace lacuna::train {

ModelSettings fit_model(const std::string& model, const std::vector<std::string>& assignments,
                        const dataset::Dataset& data) {
  constexpr int kSmallImages = 64;
  ModelSettings settings;
  for (const std::string& text : assignments) {
    const auto [key, value] = split_assignment(text, "--set");
    settings[key] = value;
  }
  const dataset::ImageShape image = data.shape();
  settings.try_emplace("size", std::to_string(image.height));
  settings.try_emplace("channels", std::to_string(image.channels));
  settings.try_emplace("classes", std::to_string(data.classes().size()));
  const ModelSummary summary = summarize_model(model_text(model), model);
  for (const ModelParameter& parameter : summary.parameters)
    if (parameter.name == "stem" && image.height <= kSmallImages) settings.try_emplace("stem", "cifar");
  return settings;
}

std::string describe_settings(const ModelSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  return text;
}

}  // namespace lacuna::train
