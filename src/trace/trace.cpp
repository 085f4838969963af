#include "trace/trace.hpp"

#include <algorithm>
#include <utility>

namespace lacuna {

Layer Layer::as_multiplied(Operation op) const {
  Layer layer = *this;
  if (op != Operation::kWeightGrad && a_forward) layer.a = *a_forward;
  layer.a_forward.reset();
  return layer;
}

Trace::Trace(std::string path, TraceInfo info, std::vector<Layer> layers,
             std::shared_ptr<const Storage> storage, std::int64_t stored_bytes)
    : path_(std::move(path)),
      info_(std::move(info)),
      layers_(std::move(layers)),
      storage_(std::move(storage)),
      stored_bytes_(stored_bytes) {
  // Asked for once per layer and more often: counted once.
  for (const Layer& layer : layers_) batch_ = std::max(batch_, layer.samples());
  batch_ = info_.batch.value_or(batch_);
  double missing = 0;
  for (const LeftOut& part : info_.left_out) missing += static_cast<double>(part.macs.value_or(0));
  info_.recorded_share.reset();
  if (missing == 0) return;
  double recorded = 0;
  for (const Layer& layer : layers_) recorded += static_cast<double>(layer.shape.macs()) * batch_scale(layer);
  info_.recorded_share = recorded / (recorded + missing);
}

double Trace::batch_scale(const Layer& layer) const {
  return static_cast<double>(batch()) / static_cast<double>(layer.samples());
}

}  // namespace lacuna
