#include "trace/synthetic/zeros_like.hpp"

#include <cmath>
#include <map>
#include <numeric>

namespace lacuna {
namespace {

enum class Kind { kConvolution, kDepthwise, kLinear, kMatmul };

Kind kind_of(const LayerShape& shape) {
  if (shape.kind == LayerKind::kMatmul) return Kind::kMatmul;
  if (shape.kind == LayerKind::kLinear) return Kind::kLinear;
  return shape.groups > 1 && shape.groups == shape.c ? Kind::kDepthwise : Kind::kConvolution;
}

ZeroSpec zeros_of(const LayerShape& shape, const LayerTensor& tensor, Operand role) {
  if (tensor.zeros() == 0) return ZeroSpec::dense();
  if (tensor.nonzeros == 0) return ZeroSpec::all_zero();
  return ZeroSpec::clustered(tensor.zero_share(),
                             measure_clustering(tensor.mask, rows_of_image(shape, role)));
}

}  // namespace

std::vector<std::size_t> similar_layers(const std::vector<SyntheticLayer>& layers, const Trace& relative) {
  std::map<std::string_view, std::size_t> by_name;
  std::map<Kind, std::vector<std::size_t>> by_kind;
  for (std::size_t i = 0; i < relative.layers().size(); ++i) {
    by_name.emplace(relative.layers()[i].name, i);
    by_kind[kind_of(relative.layers()[i].shape)].push_back(i);
  }
  std::vector<std::size_t> all(relative.layers().size());
  std::iota(all.begin(), all.end(), 0);
  std::map<Kind, std::size_t> counts, seen;
  for (const SyntheticLayer& layer : layers) ++counts[kind_of(layer.shape)];
  std::vector<std::size_t> similar;
  for (const SyntheticLayer& layer : layers) {
    const Kind kind = kind_of(layer.shape);
    const std::size_t place = seen[kind]++;
    if (const auto same = by_name.find(layer.name); same != by_name.end()) {
      similar.push_back(same->second);
      continue;
    }
    const auto known = by_kind.find(kind);
    const std::vector<std::size_t>& candidates = known != by_kind.end() ? known->second : all;
    const double depth =
        counts[kind] > 1 ? static_cast<double>(place) / static_cast<double>(counts[kind] - 1) : 1;
    similar.push_back(candidates[static_cast<std::size_t>(
        std::llround(depth * static_cast<double>(candidates.size() - 1)))]);
  }
  return similar;
}

void take_zeros_of(const Trace& relative, std::vector<SyntheticLayer>& layers) {
  const std::vector<std::size_t> similar = similar_layers(layers, relative);
  std::map<std::size_t, PerOperand<ZeroSpec>> measured;  // once per layer of the relative
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& model = relative.layers()[similar[i]];
    auto at = measured.find(similar[i]);
    if (at == measured.end()) {
      PerOperand<ZeroSpec> zeros;
      for (const Operand role : kOperands) zeros[role] = zeros_of(model.shape, model.tensor(role), role);
      at = measured.emplace(similar[i], zeros).first;
    }
    for (const Operand role : kOperands) layers[i].zeros(role) = at->second[role];
  }
}

}  // namespace lacuna
