#include "reproduce/figures/ant_runs.hpp"

#include <fmt/format.h>

namespace lacuna::reproduce {

const std::vector<AntNetwork>& ant_networks() {
  static const std::vector<AntNetwork> kNetworks{
      {"densenet121",
       {{"densenet121_cifar_resprop_swat90_p100", 32},
        {"densenet121_cifar_swat90_p100", 32},
        {"densenet121_top90_p100", 224}}},
      {"resnet18",
       {{"resnet18_cifar_resprop_swat90_p100", 32},
        {"resnet18_cifar_swat90_p100", 32},
        {"resnet18_top90_p100", 224}}},
      {"vgg16", {{"vgg16_cifar_resprop_swat90_p100", 32}, {"vgg16_cifar_swat90_p100", 32}}},
      {"wrn16_8", {{"wrn16_8_cifar_resprop_swat90_p100", 32}, {"wrn16_8_cifar_swat90_p100", 32}}},
      {"resnet50", {{"resnet50_top90_p100", 224}}},
  };
  return kNetworks;
}

std::string uniform_source(const std::string& network, int image_size) {
  return fmt::format("uniform:{}:{}", network, image_size);
}

AntNumbers ant_numbers(const Runs& runs, const std::string& trace, const Settings& settings) {
  return {runs.run(trace, "scnn", settings), runs.run(trace, "ant", settings)};
}

}  // namespace lacuna::reproduce
