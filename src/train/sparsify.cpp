#include "train/sparsify.hpp"

#include <array>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace lacuna::train {
namespace {

using Method = SparsifyOptions::Method;

constexpr std::array<std::pair<const char*, Method>, 4> kMethods = {
    {{"none", Method::kNone}, {"swat", Method::kSwat}, {"topk", Method::kTopK}, {"meprop", Method::kMeProp}}};

}  // namespace

SparsifyOptions::Method parse_sparsify(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [text, method] : kMethods) {
    if (name == text) return method;
    known.emplace_back(text);
  }
  throw InputError("--sparsify " + name, "unknown method", suggest(name, known));
}

const char* sparsify_name(SparsifyOptions::Method method) {
  for (const auto& [text, known] : kMethods)
    if (known == method) return text;
  return "none";
}

// ASSUMPTION(T5): the first layer keeps all values of its operands: images have no zeros, and it is small.
OperandRule operand_rule(const SparsifyOptions& options, const LayerPosition& place) {
  using Among = OperandRule::Among;
  OperandRule rule;
  if (place.initial) return rule;
  rule.density = options.density;
  switch (options.method) {
    case Method::kNone:
      break;
    case Method::kSwat:
      rule.weights = true;
      rule.activations = Among::kOfLayer;
      break;
    case Method::kTopK:
      rule.weights = true;
      rule.activations = Among::kOfSamples;
      rule.forward_activations = true;
      rule.gradients = Among::kOfSamples;
      break;
    case Method::kMeProp:
      // Of ten logits one would be left: its paper sparsifies hidden layers.
      if (!place.last) rule.gradients = Among::kOfSamples;
      break;
  }
  return rule;
}

}  // namespace lacuna::train
