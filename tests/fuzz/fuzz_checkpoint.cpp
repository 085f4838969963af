// Bytes as a checkpoint of a small fixed network: refused with an InputError and nothing changed, or a state
// that can be saved and read again.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/error.hpp"
#include "checkpoint_state.hpp"
#include "time_limit.hpp"

namespace {

using namespace lacuna::train;

bool same(const AlignedFloats& a, const AlignedFloats& b) {
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
}

bool unchanged(const CheckpointState& now, const CheckpointState& before) {
  bool equal = now.state.step == before.state.step && now.state.line.steps == before.state.line.steps;
  for (std::size_t i = 0; i < now.parameters.size(); ++i)
    equal = equal && same(now.parameters[i]->value, before.parameters[i]->value);
  return equal && now.pruning.layers()[0].alive == before.pruning.layers()[0].alive;
}

void check(std::span<const std::uint8_t> bytes, bool pruned) {
  CheckpointState state(pruned);
  try {
    parse_checkpoint(bytes, "fuzz", state.state, state.settings);
  } catch (const lacuna::InputError&) {
    if (!unchanged(state, CheckpointState(pruned))) std::abort();
    return;
  }
  if (state.state.step < 0 || state.state.line.steps < 0 || !std::isfinite(state.state.line.loss))
    std::abort();
  const Pruning::Layer& layer = state.pruning.layers()[0];
  std::int64_t alive = 0;
  for (const std::uint8_t byte : layer.alive) alive += byte;
  if (alive != layer.count || !(state.pruning.threshold() > 0)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  check({data, size}, true);
  check({data, size}, false);
  return 0;
}
