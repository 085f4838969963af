#include "sim/storage_study.hpp"

namespace lacuna {

std::vector<double> StorageSizes::total(Operand role, DataType type) const {
  std::vector<double> sum(forms.size(), 0.0);
  for (const LayerSizes& layer : layers) {
    for (const StoredTensorSize& tensor : layer.tensors) {
      if (tensor.role != role) continue;
      for (std::size_t f = 0; f < sum.size(); ++f) sum[f] += tensor.bits.at(type)[f] * tensor.batch_scale;
    }
  }
  return sum;
}

std::vector<double> StorageSizes::total(DataType type) const {
  std::vector<double> sum(forms.size(), 0.0);
  for (const Operand role : kOperands) {
    const std::vector<double> part = total(role, type);
    for (std::size_t f = 0; f < sum.size(); ++f) sum[f] += part[f];
  }
  return sum;
}

StudySubject study_subject(const Trace& trace, std::string arch) {
  return {trace.path(), trace.info(), trace.batch(), std::move(arch)};
}

}  // namespace lacuna
