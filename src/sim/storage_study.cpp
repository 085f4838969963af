#include "sim/storage_study.hpp"

#include <algorithm>

namespace lacuna {

std::vector<double> StorageSizes::total(Operand role, DataType type) const {
  std::vector<double> sum(forms.size(), 0.0);
  for (const LayerSizes& layer : layers) {
    for (const StoredTensorSize& tensor : layer.tensors) {
      if (tensor.role != role) continue;
      for (std::size_t f = 0; f < sum.size(); ++f) sum[f] += tensor.bits(type)[f] * tensor.batch_scale;
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

StorageStudyRegistry& StorageStudyRegistry::instance() {
  static StorageStudyRegistry registry;
  return registry;
}

void StorageStudyRegistry::add(StorageStudy study) {
  const auto at = std::ranges::lower_bound(studies_, study.model, {}, &StorageStudy::model);
  studies_.insert(at, std::move(study));
}

const StorageStudy* StorageStudyRegistry::find(std::string_view model) const {
  const auto at = std::ranges::find(studies_, model, &StorageStudy::model);
  return at == studies_.end() ? nullptr : &*at;
}

}  // namespace lacuna
