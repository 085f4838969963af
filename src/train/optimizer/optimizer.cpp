#include "train/optimizer/optimizer.hpp"

#include <algorithm>

namespace lacuna::train {

// [Fixup §4: the rate of scalar parameters is a tenth]
constexpr double kScalarRate = 0.1;

constexpr std::int64_t kPiece = 1 << 14;  // floats that a thread updates at a time

Optimizer::Optimizer(const std::vector<Parameter*>& parameters, const OptimizerOptions& options, int threads,
                     const std::vector<std::string>& states)
    : options_(options), threads_(threads) {
  for (const std::string& name : states) states_.push_back({name, {}});
  for (Parameter* parameter : parameters) {
    if (!parameter->learnt()) continue;
    const std::int64_t size = parameter->value.size();
    for (std::int64_t begin = 0; begin < size; begin += kPiece)
      pieces_.push_back({learnt_.size(), begin, std::min(kPiece, size - begin)});
    learnt_.push_back(parameter);
    for (State& state : states_) state.tensors.emplace_back(size);
  }
}

void Optimizer::for_each_piece(
    double rate, const std::function<void(std::size_t, std::int64_t, std::int64_t, float)>& update) const {
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto& [parameter, begin, count] = pieces_[i];
    const bool scalar = learnt_[parameter]->kind == Parameter::Kind::kScalar;
    update(parameter, begin, count, static_cast<float>(rate * (scalar ? kScalarRate : 1)));
  }
}

const std::vector<const char*>& optimizer_names() {
  static const std::vector<const char*> kNames = [] {
    std::vector<const char*> names;
    for (const OptimizerKind& kind : kOptimizers) names.push_back(kind.name);
    return names;
  }();
  return kNames;
}

}  // namespace lacuna::train
