#include "train/sparsity/pruning.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text/quote.hpp"
#include "dataset/streams.hpp"

namespace lacuna::train {
namespace {

// Purposes of random numbers. Each has its own stream, so that neighbouring seeds or steps draw different
// numbers.
enum Purpose : std::uint64_t { kStart = 101, kGrowth = 102 };

// Share of the earlier gradients that SM's momentum may still remember when gradients are computed again.
constexpr double kForgotten = 0.01;

constexpr double kSmallestThreshold = 0x1p-60;
constexpr double kLargestThreshold = 0x1p60;

using Indices = std::vector<std::size_t>;

// The `count` indices with the largest key, ties to the lower index, so that a run can be repeated.
template <typename Key>
Indices largest(Indices indices, std::int64_t count, const Key& key) {
  count = std::min<std::int64_t>(count, std::ssize(indices));
  const auto before = [&](std::size_t a, std::size_t b) {
    return key(a) != key(b) ? key(a) > key(b) : a < b;
  };
  std::nth_element(indices.begin(), indices.begin() + count, indices.end(), before);
  indices.resize(static_cast<std::size_t>(count));
  return indices;
}

// The first `count` of a shuffle.
Indices drawn(Indices indices, std::int64_t count, Random& random) {
  for (std::int64_t i = 0; i < count; ++i)
    std::swap(indices[static_cast<std::size_t>(i)],
              indices[static_cast<std::size_t>(random.integer(i, std::ssize(indices) - 1))]);
  indices.resize(static_cast<std::size_t>(count));
  return indices;
}

Indices indices_where(const std::vector<std::uint8_t>& alive, bool wanted) {
  Indices indices;
  for (std::size_t i = 0; i < alive.size(); ++i)
    if ((alive[i] != 0) == wanted) indices.push_back(i);
  return indices;
}

}  // namespace

Pruning::Pruning(Optimizer& optimizer, const PruningOptions& options)
    : optimizer_(optimizer), options_(options) {
  bool first = true;
  for (std::size_t p = 0; p < optimizer.learnt().size(); ++p) {
    const Parameter& parameter = *optimizer.learnt()[p];
    if (parameter.kind != Parameter::Kind::kWeights) continue;
    if (!first) {
      const auto size = static_cast<std::size_t>(parameter.value.size());
      layers_.push_back({p, std::vector<std::uint8_t>(size, 1), parameter.value.size()});
    }
    first = false;
  }
}

Pruning::~Pruning() {
  for (const Layer& layer : layers_) optimizer_.learnt()[layer.parameter]->kept = {};
}

void Pruning::publish() {
  faded_ = false;
  static std::atomic<std::uint64_t> last{0};
  for (const Layer& layer : layers_)
    optimizer_.learnt()[layer.parameter]->kept = {layer.alive.data(), ++last};
}

bool Pruning::due(std::int64_t step) const {
  return (step + 1) % options_.every == 0 && (options_.until == 0 || step < options_.until);
}

bool Pruning::needs_all_gradients(std::int64_t step) const {
  if (options_.method == PruningOptions::Method::kNone) return true;
  if (options_.method == PruningOptions::Method::kDynamicSparse) return false;
  // ASSUMPTION(T9): sparse momentum grows weights where the momentum is largest, which an exponential mean
  // has forgotten to one percent after `remembered` steps (44 for a momentum of 0.9).
  const double momentum = optimizer_.mean_decay();
  const double remembered = momentum > 0 ? std::ceil(std::log(kForgotten) / std::log(momentum)) : 1;
  const std::int64_t steps =
      options_.growth_steps > 0 ? options_.growth_steps : static_cast<std::int64_t>(remembered);
  const std::int64_t change = (step / options_.every + 1) * options_.every - 1;
  return due(change) && change - step < steps;
}

float* Pruning::weights(const Layer& layer) const {
  return optimizer_.learnt()[layer.parameter]->value.data();
}
float* Pruning::momentum(const Layer& layer) const { return optimizer_.momenta()[layer.parameter].data(); }

void Pruning::clear(const Layer& layer, bool momentum_too) const {
  float* w = weights(layer);
  float* v = momentum(layer);
  const std::uint8_t* alive = layer.alive.data();
  const auto count = static_cast<std::int64_t>(layer.alive.size());
  [[maybe_unused]] const int threads = count > 65536 ? optimizer_.threads() : 1;
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) w[i] = alive[i] != 0 ? w[i] : 0.0F;
  if (!momentum_too) return;
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) v[i] = alive[i] != 0 ? v[i] : 0.0F;
}

void Pruning::clear() const {
  for (const Layer& layer : layers_) clear(layer);
}

// NaN cannot be sorted.
void Pruning::check_numbers() const {
  for (const Layer& layer : layers_)
    for (std::size_t i = 0; i < layer.alive.size(); ++i)
      if (!std::isfinite(weights(layer)[i]) || !std::isfinite(momentum(layer)[i]))
        throw InputError("training",
                         fmt::format("{} or its momentum has become infinite or NaN",
                                     quote_name(optimizer_.learnt()[layer.parameter]->name)),
                         "lower --lr or add --warmup; the last checkpoint is untouched");
}

std::int64_t Pruning::alive() const {
  return std::accumulate(layers_.begin(), layers_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Layer& layer) { return sum + layer.count; });
}

double Pruning::zero_share() const {
  double all = 0;
  for (const Layer& layer : layers_) all += static_cast<double>(layer.alive.size());
  return all == 0 ? 0 : 1 - static_cast<double>(alive()) / all;
}

void Pruning::start() {
  for (Layer& layer : layers_) {
    Random random(dataset::stream_seed(options_.seed, kStart, layer.parameter));
    const auto size = static_cast<double>(layer.alive.size());
    layer.alive.assign(layer.alive.size(), 0);
    layer.count = std::max<std::int64_t>(std::llround(size * (1 - options_.zeros)), 1);
    for (const std::size_t i : drawn(indices_where(layer.alive, false), layer.count, random))
      layer.alive[i] = 1;
    clear(layer);
    if (options_.as_drawn) continue;
    // ASSUMPTION(T4): weights were drawn for as many inputs as a dense layer has. A tenth of them gives sums
    // that are too small by sqrt(10), layer after layer, and without batch norm nothing is learnt
    // (docs/results/pruning.md); the remaining weights make up for the missing ones.
    const auto scale = static_cast<float>(std::sqrt(size / static_cast<double>(layer.count)));
    float* w = weights(layer);
    for (std::size_t i = 0; i < layer.alive.size(); ++i) w[i] *= scale;
  }
  publish();
}

void Pruning::after_step(std::int64_t step) {
  if (options_.method == PruningOptions::Method::kNone) return;
  // Momentum that no gradient feeds would fade to denormals, which are slow, and be remembered nowhere.
  const bool fades = !needs_all_gradients(step);
  if (!fades || !faded_)
    for (const Layer& layer : layers_) clear(layer, fades);
  faded_ = fades;
  if (!due(step)) return;
  check_numbers();
  if (options_.method == PruningOptions::Method::kSparseMomentum)
    move_by_momentum(step);
  else
    move_by_threshold(step);
  publish();
}

std::vector<std::int64_t> Pruning::spread(std::int64_t total, const std::vector<double>& share) const {
  std::vector<std::int64_t> given(layers_.size());
  const auto room = [&](std::size_t l) {
    return static_cast<std::int64_t>(layers_[l].alive.size()) - layers_[l].count - given[l];
  };
  // The part that full layers cannot take is spread over the others by their shares.
  std::int64_t left = total;
  for (std::int64_t before = 0; left > 0 && left != before;) {
    before = left;
    double all = 0;
    for (std::size_t l = 0; l < layers_.size(); ++l) all += room(l) > 0 ? share[l] : 0;
    for (std::size_t l = 0; l < layers_.size() && all > 0; ++l) {
      const auto wanted = static_cast<std::int64_t>(static_cast<double>(before) * share[l] / all);
      const std::int64_t more = std::min({room(l), left, wanted});
      given[l] += more;
      left -= more;
    }
  }
  for (std::size_t l = 0; l < layers_.size() && left > 0; ++l) {
    const std::int64_t more = std::min(room(l), left);
    given[l] += more;
    left -= more;
  }
  return given;
}

void Pruning::move_by_momentum(std::int64_t step) {
  const double done =
      options_.until > 0 ? static_cast<double>(step) / static_cast<double>(options_.until) : 0;
  const double rate = options_.move * std::max(0.0, 1 - done);
  std::vector<double> share;
  std::int64_t removed = 0;
  for (Layer& layer : layers_) {
    const float* w = weights(layer);
    const float* v = momentum(layer);
    double sum = 0;  // mean magnitude of the momentum of the weights that are alive
    for (std::size_t i = 0; i < layer.alive.size(); ++i)
      if (layer.alive[i] != 0) sum += std::fabs(static_cast<double>(v[i]));
    share.push_back(sum / static_cast<double>(std::max<std::int64_t>(layer.count, 1)));
    const auto drop =
        std::min(layer.count - 1, static_cast<std::int64_t>(static_cast<double>(layer.count) * rate));
    for (const std::size_t i :
         largest(indices_where(layer.alive, true), drop, [w](std::size_t at) { return -std::fabs(w[at]); }))
      layer.alive[i] = 0;
    layer.count -= drop;
    removed += drop;
    clear(layer);
  }
  const std::vector<std::int64_t> grow = spread(removed, share);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    const float* v = momentum(layer);
    for (const std::size_t i : largest(indices_where(layer.alive, false), grow[l],
                                       [v](std::size_t at) { return std::fabs(v[at]); }))
      layer.alive[i] = 1;
    layer.count += grow[l];
  }
}

void Pruning::move_by_threshold(std::int64_t step) {
  const auto wanted = static_cast<double>(alive()) * options_.move;
  std::int64_t removed = 0;
  std::vector<double> share;
  for (Layer& layer : layers_) {
    const float* w = weights(layer);
    for (std::size_t i = 0; i < layer.alive.size() && layer.count > 1; ++i) {
      if (layer.alive[i] == 0 || std::fabs(static_cast<double>(w[i])) >= threshold_) continue;
      layer.alive[i] = 0;
      --layer.count;
      ++removed;
    }
    share.push_back(static_cast<double>(layer.count));
    clear(layer);
  }
  // [Mostafa and Wang 2019, Algorithm 1]: the threshold doubles or halves when the number is a tenth off.
  if (static_cast<double>(removed) < 0.9 * wanted) threshold_ *= 2;
  if (static_cast<double>(removed) > 1.1 * wanted) threshold_ /= 2;
  // Layers that cannot give up as many, or whose weights are all zero, must not drive the threshold to 0 or
  // infinity.
  threshold_ = std::clamp(threshold_, kSmallestThreshold, kLargestThreshold);
  const std::vector<std::int64_t> grow = spread(removed, share);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    Random random(dataset::stream_seed(dataset::stream_seed(options_.seed, kGrowth, layer.parameter), 0,
                                       static_cast<std::uint64_t>(step)));
    for (const std::size_t i : drawn(indices_where(layer.alive, false), grow[l], random)) {
      layer.alive[i] = 1;
      // A new weight starts without the momentum that its place had before.
      momentum(layer)[i] = 0;
    }
    layer.count += grow[l];
  }
}

}  // namespace lacuna::train
