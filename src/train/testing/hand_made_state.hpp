// A small pruned training state into which a test may put anything.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "train/run/checkpoint.hpp"
#include "train/testing/tiny_run.hpp"

namespace lacuna::train {

struct HandMade {
  explicit HandMade(std::int64_t width = 3)
      : a("a.weight", Parameter::Kind::kWeights, {2, width}),
        b("b.weight", Parameter::Kind::kWeights, {2, 3}),
        mean("norm.mean", Parameter::Kind::kBuffer, {2}),
        parameters{&a, &b, &mean},
        made(make_sgd(parameters, {}, 1)),
        pruning(optimizer, {.method = PruningOptions::Method::kDynamicSparse, .zeros = 0.5}) {
    float value = 0;
    for (Parameter* parameter : parameters)
      for (std::int64_t i = 0; i < parameter->value.size(); ++i) parameter->value[i] = value += 0.5F;
    pruning.start();
    state.pruning = &pruning;
    state.step = 41;
    state.line = {7, 5, 1.5};
  }

  std::vector<std::uint8_t> file(const Settings& settings = {{"lr", "0.1"}}) const {
    const TemporaryFolder folder;
    write_checkpoint(folder / "c", state, settings);
    return bytes_in(folder / "c");
  }
  // Returns the values that a refused checkpoint must leave alone.
  std::vector<double> everything() const {
    std::vector<double> all = {static_cast<double>(state.step), static_cast<double>(state.line.steps),
                               static_cast<double>(state.line.correct), state.line.loss,
                               state.pruning->threshold()};
    for (const Parameter* p : parameters)
      all.insert(all.end(), p->value.data(), p->value.data() + p->value.size());
    for (const AlignedFloats& v : state.optimizer.momenta())
      all.insert(all.end(), v.data(), v.data() + v.size());
    for (const Pruning::Layer& layer : state.pruning->layers()) {
      all.insert(all.end(), layer.alive.begin(), layer.alive.end());
      all.push_back(static_cast<double>(layer.count));
    }
    return all;
  }
  std::string read(std::span<const std::uint8_t> bytes, const Settings& settings = {{"lr", "0.1"}}) {
    return error_of([&] { parse_checkpoint(bytes, "c", state, settings); });
  }

  Parameter a, b, mean;
  std::vector<Parameter*> parameters;
  std::unique_ptr<Optimizer> made;
  Optimizer& optimizer = *made;
  Pruning pruning;
  TrainingState state{parameters, optimizer};
};

// The bytes of a checkpoint before its tensors.
inline std::size_t header_size(const std::vector<std::uint8_t>& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return sizeof length + length;
}

}  // namespace lacuna::train
