#include "trace/trace.hpp"

#include <algorithm>
#include <utility>

namespace lacuna {

Trace::Trace(std::string path, TraceInfo info, std::vector<Layer> layers,
             std::shared_ptr<const Storage> storage)
    : path_(std::move(path)),
      info_(std::move(info)),
      layers_(std::move(layers)),
      storage_(std::move(storage)) {}

std::int64_t Trace::batch() const {
  if (info_.batch) return *info_.batch;
  std::int64_t most = 1;
  for (const Layer& layer : layers_) most = std::max(most, layer.shape.n / layer.steps);
  return most;
}

double Trace::batch_scale(const Layer& layer) const {
  const std::int64_t samples = layer.shape.n / layer.steps;
  return static_cast<double>(batch()) / static_cast<double>(samples);
}

}  // namespace lacuna
