#include "reproduce/figures/ant_runs.hpp"

#include <fmt/format.h>

namespace lacuna::reproduce {

const std::vector<AntNetwork>& ant_networks() {
  using enum AntLimit;
  static const std::vector<AntNetwork> kNetworks{
      {"densenet121",
       {{"densenet121_cifar_resprop_swat90_p100", kPointwise},
        {"densenet121_cifar_swat90_p100", kPointwise},
        {"densenet121_top90_p100", kImageSize}}},
      {"resnet18",
       {{"resnet18_cifar_resprop_swat90_p100", kNoGainElsewhere},
        {"resnet18_cifar_swat90_p100", kNoGainElsewhere},
        {"resnet18_top90_p100", kImageSize}}},
      {"vgg16",
       {{"vgg16lin_cifar_resprop_swat90_p100", kShortPairs},
        {"vgg16lin_cifar_swat90_p100", kShortPairs},
        {"vgg16_cifar_resprop_swat90_p100", kHead},
        {"vgg16_cifar_swat90_p100", kHead}}},
      {"wrn16_8",
       {{"wrn16_8_cifar_resprop_swat90_p100", kNoGainElsewhere},
        {"wrn16_8_cifar_swat90_p100", kDenseGradients}}},
      {"resnet50",
       {{"resnet50_cifar_resprop_swat90_p100", kPointwise},
        {"resnet50_cifar_swat90_p100", kPointwise},
        {"resnet50_top90_p100", kImageSize}}},
  };
  return kNetworks;
}

const std::array<AntReading, 4>& ant_readings() {
  const std::pair<std::string, std::string> pair{"fill_scope", "pair"}, channels{"linear", "channels"};
  static const std::array<AntReading, 4> kReadings{{{"all", {}, false},
                                                    {"all, fill per pair (O2)", {pair}, false},
                                                    {"all, 1x1 by positions (O18)", {channels}, true},
                                                    {"all, both", {channels, pair}, true}}};
  return kReadings;
}

std::string uniform_source(const std::string& network, int image_size, int seed) {
  return fmt::format("uniform:{}:{}:{}", network, image_size, seed);
}

std::vector<int> image_sizes(const std::string& network) {
  if (network == "vgg16" || network == "wrn16_8") return {kSmallImages, 64};
  return {kSmallImages, 64, 224};
}

AntNumbers ant_numbers(const Runs& runs, const std::string& trace, const Settings& settings) {
  return {runs.run(trace, "scnn", settings), runs.run(trace, "ant", settings)};
}

}  // namespace lacuna::reproduce
