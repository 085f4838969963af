// Any text as a list of layers, in YAML and in CSV: layers that can be drawn, or an error of one line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "network/layer_file.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& parse : {network::parse_yaml_layers, network::parse_csv_layers}) {
    try {
      const network::LayerList list = parse(text, "fuzz", {});
      if (list.layers.empty() || list.layers.size() > network::kMostLayers) std::abort();
      for (const SyntheticLayer& layer : list.layers) layer.shape.validate("fuzz");
    } catch (const InputError& error) {
      if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
    }
  }
  return 0;
}
