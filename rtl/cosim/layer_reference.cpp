#include "layer_reference.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <limits>
#include <memory>

#include "sim/catalog/registry.hpp"
#include "sim/tile/tile_grid.hpp"
#include "sim/workload/reference.hpp"
#include "sim/workload/schedule_policy.hpp"

namespace lacuna::rtl {
namespace {

TileShape tile_of(int size) { return {.rows = size, .columns = size, .lanes = 16, .tiles = 1}; }

std::unique_ptr<Accelerator> one_tile(int size, const std::string& sides) {
  const AcceleratorModel* model = AcceleratorRegistry::instance().find("tensordash");
  Params params("tensordash", model->params);
  params.set("tiles", "1", "rtl");
  params.set("rows", std::to_string(size), "rtl");
  params.set("columns", std::to_string(size), "rtl");
  params.set("sides", sides, "rtl");
  return model->make(std::move(params));
}

std::string describe(const Trace& trace, const Layer& layer, Operation op) {
  return fmt::format("{} {} {} ({})", trace.info().model, layer.name, operation_name(op),
                     layer.shape.describe());
}

std::int64_t group_steps(const std::vector<PlacedProduct>& placed) {
  std::int64_t sum = 0;
  for (const PlacedProduct& product : placed) sum += product.grid.row_groups * product.rows->steps();
  return sum;
}

// The first layer's input gradient is not computed.
bool runs(const Trace& trace, const Layer& layer, Operation op) {
  return op != Operation::kInputGrad || &layer != &trace.layers().front();
}

// kLayerTile streams from `first` on with values; missing ones are zero.
StreamGroup values_of(const OperandStreams& streams, std::int64_t first, const TensorValues& source) {
  StreamGroup group{kLayerTile, static_cast<int>(streams.steps()), 16, {}};
  group.values.assign(static_cast<std::size_t>(group.rows * group.steps * group.lanes), 0);
  float lanes[64];
  for (int r = 0; r < kLayerTile && first + r < streams.count(); ++r) {
    for (int step = 0; step < group.steps; ++step) {
      streams.values(first + r, step, source, lanes);
      for (int lane = 0; lane < 16; ++lane)
        group.value(r, step, lane) = std::bit_cast<std::uint32_t>(lanes[lane]);
    }
  }
  return group;
}

RecordedOperation with_values(const Trace& trace, const Layer& layer, Operation op, std::int64_t cycles) {
  const std::vector<LaneProduct> products = lane_products(layer, op, 16);
  const std::vector<PlacedProduct> placed =
      place_products(products, choose_scheduled(layer, op, OperandRule::kSparser), tile_of(kLayerTile));
  const LayerValues values = layer_values(layer, 1);
  const std::vector<double> reference = reference_result(layer.shape, op, values);
  RecordedOperation recorded{describe(trace, layer, op), {}, cycles};
  for (const PlacedProduct& product : placed) {
    RecordedProduct out;
    const bool rows_are_primary = product.rows == &product.product->primary;
    for (std::int64_t i = 0; i < product.grid.row_groups; ++i)
      out.row_groups.push_back(values_of(*product.rows, i * kLayerTile, values.of(product.rows->role)));
    for (std::int64_t j = 0; j < product.grid.column_groups; ++j)
      out.column_groups.push_back(
          values_of(*product.columns, j * kLayerTile, values.of(product.columns->role)));
    for (std::int64_t i = 0; i < product.grid.row_groups; ++i) {
      for (std::int64_t j = 0; j < product.grid.column_groups; ++j) {
        std::vector<float> outputs(kLayerTile * kLayerTile, 0.0F);
        for (std::int64_t pe = 0; pe < kLayerTile * kLayerTile; ++pe) {
          const std::int64_t row = i * kLayerTile + pe / kLayerTile,
                             column = j * kLayerTile + pe % kLayerTile;
          if (row >= product.rows->count() || column >= product.columns->count()) continue;
          const std::int64_t at = product.product->output_index(
              layer.shape, op, rows_are_primary ? row : column, rows_are_primary ? column : row);
          outputs[static_cast<std::size_t>(pe)] = static_cast<float>(reference[static_cast<std::size_t>(at)]);
        }
        out.outputs.push_back(std::move(outputs));
      }
    }
    recorded.products.push_back(std::move(out));
  }
  return recorded;
}

}  // namespace

Trace recorded_trace(const std::string& model) {
  return Trace::open(fmt::format("{}/data/{}_p100.safetensors.zst", LACUNA_SOURCE_DIR, model));
}

RecordedOperation smallest_operation(const Trace& trace, std::int64_t least_cycles,
                                     const std::string& sides) {
  const std::unique_ptr<Accelerator> machine = one_tile(kLayerTile, sides);
  const Layer* best = nullptr;
  Operation best_op = Operation::kForward;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const Layer& layer : trace.layers()) {
    for (const Operation op : kOperations) {
      if (!runs(trace, layer, op)) continue;
      const std::int64_t cycles = machine->simulate(layer, op, {}).cycles;
      if (cycles < least_cycles || cycles >= fewest) continue;
      fewest = cycles;
      best = &layer;
      best_op = op;
    }
  }
  return with_values(trace, *best, best_op, fewest);
}

std::vector<MaskedOperation> masked_operations(const Trace& trace, std::int64_t most_steps) {
  const std::unique_ptr<Accelerator> machine = one_tile(4, "one");
  std::vector<MaskedOperation> operations;
  for (const Layer& layer : trace.layers()) {
    for (const Operation op : kOperations) {
      if (!runs(trace, layer, op)) continue;
      const std::vector<LaneProduct> products = lane_products(layer, op, 16);
      const std::vector<PlacedProduct> placed =
          place_products(products, choose_scheduled(layer, op, OperandRule::kSparser), tile_of(4));
      MaskedOperation masked;
      masked.group_steps = group_steps(placed);
      if (masked.group_steps > most_steps) continue;
      masked.name = describe(trace, layer, op);
      masked.cycles = machine->simulate(layer, op, {}).cycles;
      for (const PlacedProduct& product : placed) {
        MaskedProduct out;
        out.steps = static_cast<int>(product.rows->steps());
        masked.dense_cycles += product.grid.dense_cycles(out.steps);
        out.column_groups = product.grid.column_groups;
        for (std::int64_t i = 0; i < product.grid.row_groups; ++i) {
          std::vector<std::uint64_t> group(static_cast<std::size_t>(out.steps * 4), 0);
          for (std::int64_t r = 0; r < 4 && i * 4 + r < product.rows->count(); ++r) {
            for (std::int64_t step = 0; step < out.steps; ++step)
              group[static_cast<std::size_t>(step * 4 + r)] = product.rows->word(i * 4 + r, step);
          }
          out.groups.push_back(std::move(group));
        }
        masked.products.push_back(std::move(out));
      }
      operations.push_back(std::move(masked));
    }
  }
  return operations;
}

}  // namespace lacuna::rtl
