#include "sim/outer_product/residency.hpp"

#include <algorithm>

#include "sim/outer_product/work.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna::outer_product {
namespace {

// Returns true if a layer's input can be the output that the layer before it left in the PEs. Pooling in
// between is done on the way into the OARAM [SCNN §4].
bool follows(const LayerShape& layer, const LayerShape& before) {
  if (layer.is_matrix() || before.is_matrix()) return false;
  return layer.n == before.n && layer.c == before.k && layer.input.h <= before.output.h &&
         layer.input.w <= before.output.w;
}

}  // namespace

std::int64_t largest_tile(const Layer& layer, const MachineConfig& config) {
  const ConvolutionWork work = ConvolutionWork::of(layer.shape, Operation::kForward, config);
  const std::int64_t h = work.map.y.image, w = work.map.x.image;
  std::vector<std::int64_t> of_position(static_cast<std::size_t>(layer.a.mask.rows));
  count_rows(layer.a.mask, 0, layer.shape.c, of_position.data());
  std::int64_t most = 0, row = 0;
  std::vector<std::int64_t> of_tile;
  for (std::int64_t sample = 0; sample < layer.shape.n; ++sample) {
    of_tile.assign(static_cast<std::size_t>(work.tiles()), 0);
    for (std::int64_t y = 0; y < h; ++y) {
      for (std::int64_t x = 0; x < w; ++x, ++row) {
        of_tile[static_cast<std::size_t>(work.tile_of(y, x))] += of_position[static_cast<std::size_t>(row)];
      }
    }
    most = std::max(most, *std::ranges::max_element(of_tile));
  }
  return most;
}

std::vector<LayerPasses> plan_residency(const Trace& trace, const MachineConfig& config, const Dram& dram,
                                        const PerOperation<bool>& operations) {
  std::vector<Layer> layers;
  for (const Layer& layer : trace.layers()) layers.push_back(layer.as_multiplied(Operation::kForward));
  const std::int64_t holds = std::min(config.iaram_values, config.oaram_values);
  const bool forward_alone = !operations[Operation::kInputGrad] && !operations[Operation::kWeightGrad];
  std::vector<bool> stays(layers.size() + 1, false);
  for (std::size_t l = 1; l < layers.size(); ++l) {
    stays[l] = follows(layers[l].shape, layers[l - 1].shape) && largest_tile(layers[l], config) <= holds;
  }
  std::vector<LayerPasses> by_sample(layers.size()), by_layer(layers.size());
  double sample_bytes = 0, layer_bytes = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    TensorPasses& passes = by_sample[l][Operation::kForward];
    passes.primary = stays[l] ? 0 : 1;
    // Weights; the right factor of a matmul is a sample's own.
    const bool once = layer.shape.once_per_batch(Operand::kW);
    passes.secondary = once ? trace.batch() : 1;
    // A tensor that training needs again is written whether it stays or not.
    passes.output_writes = forward_alone && stays[l + 1] ? 0 : 1;
    const double scale = trace.batch_scale(layer);
    const auto bytes = [](const TensorTraffic& traffic) {
      return static_cast<double>(traffic.dram_read_bytes + traffic.dram_write_bytes);
    };
    const double input = bytes(dram.read(layer.a.elements(), layer.a.nonzeros)) * scale;
    const double weights = bytes(dram.read(layer.w.elements(), layer.w.nonzeros)) * (once ? 1 : scale);
    const double output = bytes(dram.write(result_elements(layer.shape, Operation::kForward),
                                           result_nonzeros(layer, Operation::kForward))) *
                          scale;
    layer_bytes += input + weights + output;
    sample_bytes += input * static_cast<double>(passes.primary) +
                    weights * static_cast<double>(passes.secondary) +
                    output * static_cast<double>(passes.output_writes);
  }
  return sample_bytes < layer_bytes ? by_sample : by_layer;
}

}  // namespace lacuna::outer_product
