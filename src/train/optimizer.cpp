#include "train/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "train/passes/passes.hpp"

namespace lacuna::train {

// [Fixup §4: the rate of scalar parameters is a tenth]
constexpr double kScalarRate = 0.1;

constexpr std::int64_t kPiece = 1 << 14;  // floats that a thread updates at a time

Sgd::Sgd(const std::vector<Parameter*>& parameters, const SgdOptions& options, int threads)
    : options_(options), threads_(threads) {
  for (Parameter* parameter : parameters) {
    if (!parameter->learnt()) continue;
    learnt_.push_back(parameter);
    const std::int64_t size = parameter->value.size();
    for (std::int64_t begin = 0; begin < size; begin += kPiece)
      pieces_.push_back({learnt_.size() - 1, begin, std::min(kPiece, size - begin)});
    momenta_.emplace_back(size);
  }
}

void Sgd::step(double rate) {
  const auto momentum = static_cast<float>(options_.momentum);
  const auto decay = static_cast<float>(options_.weight_decay);
  const Passes& run = passes();
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto& [p, begin, count] = pieces_[i];
    Parameter& parameter = *learnt_[p];
    const auto own_rate =
        static_cast<float>(rate * (parameter.kind == Parameter::Kind::kScalar ? kScalarRate : 1));
    run.sgd(parameter.value.data() + begin, momenta_[p].data() + begin, parameter.grad.data() + begin, count,
            own_rate, momentum, decay);
  }
}

double RateSchedule::at(std::int64_t step) const {
  const double done =
      std::clamp(static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(steps, 1)), 0.0, 1.0);
  double now = rate;
  if (kind == Kind::kCosine) now = rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
  if (kind == Kind::kStep) now = rate * (done >= 0.75 ? 0.01 : done >= 0.5 ? 0.1 : 1);
  if (step < warmup) now *= static_cast<double>(step + 1) / static_cast<double>(warmup);
  return now;
}

RateSchedule::Kind parse_schedule(const std::string& name) {
  if (name == "constant") return RateSchedule::Kind::kConstant;
  if (name == "cosine") return RateSchedule::Kind::kCosine;
  if (name == "step") return RateSchedule::Kind::kStep;
  throw InputError("--schedule " + name, "unknown schedule", suggest(name, {"constant", "cosine", "step"}));
}

}  // namespace lacuna::train
