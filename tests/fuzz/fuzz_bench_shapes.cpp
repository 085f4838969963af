// Any text as a list of layers to time: layers that could be run, or refused in one line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "bench/inputs/layer_list.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const bench::Network network = bench::parse_shapes(text, "fuzz", 16);
    if (network.layers.empty() || network.name.empty() || !(network.paper_training >= 0)) std::abort();
    for (const bench::NetworkLayer& layer : network.layers) {
      if (layer.name.empty() || layer.count < 1 || layer.shape.n != 16) std::abort();
      layer.shape.validate("fuzz");
    }
  } catch (const InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
