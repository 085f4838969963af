// The network whose checkpoints fuzz_checkpoint reads and make_seeds writes.
#pragma once

#include "train/run/checkpoint.hpp"

namespace lacuna::train {

struct CheckpointState {
  explicit CheckpointState(bool pruned)
      : made(make_sgd(parameters, {}, 1)),
        pruning(optimizer, {.method = PruningOptions::Method::kDynamicSparse}) {
    for (Parameter* parameter : parameters)
      for (std::int64_t i = 0; i < parameter->value.size(); ++i)
        parameter->value[i] = 0.25F * static_cast<float>(i + 1);
    pruning.start();
    if (pruned) state.pruning = &pruning;
    state.step = 7;
    state.line = {3, 2, 1.5};
  }

  Parameter first{"a.weight", Parameter::Kind::kWeights, {2, 1}};
  Parameter weights{"b.weight", Parameter::Kind::kWeights, {3, 2}};
  Parameter mean{"norm.mean", Parameter::Kind::kBuffer, {2}};
  std::vector<Parameter*> parameters{&first, &weights, &mean};
  std::unique_ptr<Optimizer> made;
  Optimizer& optimizer = *made;
  Pruning pruning;
  TrainingState state{parameters, optimizer};
  Settings settings{{"model", "m"}, {"lr", "0.1"}};
};

}  // namespace lacuna::train
