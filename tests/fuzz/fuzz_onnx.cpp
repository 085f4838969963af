// Any bytes as an ONNX model: layers that can be drawn, or an error of one line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "network/layer_file.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  try {
    const network::LayerList list = network::parse_onnx_layers({data, size}, "fuzz", {});
    if (list.layers.empty()) std::abort();
    for (const SyntheticLayer& layer : list.layers) {
      layer.shape.validate("fuzz");
      if (layer.steps < 1) std::abort();
    }
  } catch (const InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
