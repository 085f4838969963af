#include "base/text/json.hpp"
#include "cli/terminal/output.hpp"
#include "train/run/kernel_times.hpp"

namespace lacuna::cli {

std::string kernels_part(const train::KernelTimes& times) {
  Json layers = Json::array();
  for (const train::LayerTimes& layer : times.layers) {
    for (const Operation op : kOperations)
      layers.push_back({{"layer", layer.name},
                        {"op", operation_name(op)},
                        {"dense_ms", number_json(layer.dense[op])},
                        {"sparse_ms", number_json(layer.other[op])}});
  }
  return dump_json({{"batch", times.batch},
                    {"steps", times.steps},
                    {"kernels", train::kernels_name(times.kernels)},
                    {"layers_speedup", number_json(times.layers_speedup)},
                    {"step_speedup", number_json(times.step_speedup)},
                    {"dense_step_ms", number_json(times.dense_step_ms)},
                    {"other_step_ms", number_json(times.other_step_ms)},
                    {"layers", std::move(layers)}});
}

}  // namespace lacuna::cli
