// The models of TensorDash's evaluation, and means over them.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tensor/operation.hpp"

namespace lacuna::reproduce {

// [TensorDash §4]: the traces at the end of training, "alexnet_p100" and so on.
inline const std::vector<std::string>& paper_models() {
  static const std::vector<std::string> kModels{"alexnet",       "vgg16",         "squeezenet", "densenet121",
                                                "resnet50_SM90", "resnet50_DS90", "snli",       "img2txt"};
  return kModels;
}

// All but img2txt, whose trace came later than the values that docs/results gives for the others.
inline std::vector<std::string> first_seven_models() {
  std::vector<std::string> models = paper_models();
  models.pop_back();
  return models;
}

inline std::string last_trace(const std::string& model) { return model + "_p100"; }

inline double mean_of(const std::vector<std::string>& names,
                      const std::function<double(const std::string&)>& value) {
  double sum = 0;
  for (const std::string& name : names) sum += value(name);
  return sum / static_cast<double>(names.size());
}

inline double geometric_mean_of(const std::vector<std::string>& names,
                                const std::function<double(const std::string&)>& value) {
  return std::exp(mean_of(names, [&](const std::string& name) { return std::log(value(name)); }));
}

inline constexpr const char* kMeanRow = "mean of the eight";
inline constexpr const char* kMeanOfSevenRow = "mean without img2txt";

// The operations as TensorDash's paper calls them.
inline constexpr PerOperation<const char*> kOperationTitles{"A*W", "W*G", "A*G"};

}  // namespace lacuna::reproduce
