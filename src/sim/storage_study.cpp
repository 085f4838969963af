#include "sim/storage_study.hpp"

#include <algorithm>

namespace lacuna {

std::vector<TraceTensor> StorageSizes::tensors() const {
  std::vector<TraceTensor> found;
  for (const TraceTensor which : kTraceTensors) {
    const bool any = std::ranges::any_of(layers, [&](const LayerSizes& layer) {
      return std::ranges::any_of(layer.tensors, [&](const auto& tensor) { return tensor.which == which; });
    });
    if (any) found.push_back(which);
  }
  return found;
}

std::vector<double> StorageSizes::total(TraceTensor which, DataType type) const {
  std::vector<double> sum(forms.size(), 0.0);
  for (const LayerSizes& layer : layers) {
    for (const StoredTensorSize& tensor : layer.tensors) {
      if (tensor.which != which) continue;
      for (std::size_t f = 0; f < sum.size(); ++f) sum[f] += tensor.bits.at(type)[f] * tensor.batch_scale;
    }
  }
  return sum;
}

std::vector<double> StorageSizes::total(DataType type) const {
  std::vector<double> sum(forms.size(), 0.0);
  for (const TraceTensor which : tensors()) {
    const std::vector<double> part = total(which, type);
    for (std::size_t f = 0; f < sum.size(); ++f) sum[f] += part[f];
  }
  return sum;
}

StudySubject study_subject(const Trace& trace, std::string arch) {
  return {trace.path(), trace.info(), trace.batch(), std::move(arch)};
}

}  // namespace lacuna
