#include "sim/outer_product/memory.hpp"

#include <algorithm>
#include <cmath>

#include "sim/outer_product/work.hpp"
#include "sim/tile/column_panel.hpp"

namespace lacuna::outer {
namespace {

constexpr std::int64_t kIndexBytes = 2;  // ASSUMPTION(O11): of a value that is kept compressed
constexpr std::int64_t kRowValues = 16;  // of a row of SRAM [TensorDash Table 2]

// The dense machine takes what it has in common with ours from our parameters.
Params dense_params(const Params& params) {
  Params dense(params.owner(), memory_params());
  for (const ParamSpec& spec : dram_params("", "")) {
    for (const auto& [name, value] : params.values()) {
      if (name == spec.name) dense.set(name, value, params.owner());
    }
  }
  return dense;
}

}  // namespace

PeTraffic pe_traffic(const Layer& layer, Operation op, const MachineConfig& config, std::int64_t pairs) {
  PeTraffic traffic;
  const std::int64_t elements = result_elements(layer.shape, op);
  if (layer.shape.kind == LayerKind::kLinear) {
    // The image is broadcast; a kernel element belongs to one block of columns.
    const LinearWork work = LinearWork::of(layer, op, config);
    traffic.image_values_sent = layer.tensor(work.image.role).nonzeros;
    traffic.kernel_values_sent = layer.tensor(work.kernel.role).nonzeros;
    traffic.loaded = traffic.image_values_sent * work.blocks + traffic.kernel_values_sent;
    traffic.drained = elements;
    return traffic;
  }
  const ConvolutionWork work = ConvolutionWork::of(layer.shape, op, config);
  // ASSUMPTION(O9): an operand leaves SRAM once a sample and stays in the PEs that use it.
  const std::int64_t times = work.kernel_role == TensorRole::kW ? work.samples : 1;
  traffic.image_values_sent = layer.tensor(work.image_role).nonzeros;
  traffic.kernel_values_sent = layer.tensor(work.kernel_role).nonzeros * times;
  traffic.loaded =
      traffic.image_values_sent * work.image_copies() + traffic.kernel_values_sent * work.kernel_copies();
  traffic.halo = work.halo_values();
  // ASSUMPTION(O10): sums stay in the accumulators while they grow: over the channels of the image; those of
  // a weight gradient have one pair of planes only.
  traffic.drained = op == Operation::kWeightGrad ? pairs * work.map.outputs().h * work.map.outputs().w
                                                 : elements + traffic.halo;
  return traffic;
}

OuterMemory::OuterMemory(const Params& params, const MachineConfig& config)
    : dram_(params),
      dense_tile_{.rows = 4, .columns = 4, .lanes = 16, .tiles = config.multipliers / 256},
      dense_(dense_params(params), dense_tile_) {}

std::int64_t OuterMemory::rows(std::int64_t values) const {
  return ceil_div(values * (dram_.value_bytes() + kIndexBytes), kRowValues * dram_.value_bytes());
}

Activity OuterMemory::count(const Layer& layer, Operation op, const PeTraffic& traffic, double batch_scale,
                            std::int64_t cycles) const {
  Activity activity;
  activity.compute_cycles = cycles;
  activity.am_reads = rows(traffic.image_values_sent);
  activity.bm_reads = rows(traffic.kernel_values_sent);
  const auto add = [&](const TensorTraffic& part, bool weights) {
    TensorTraffic& sum = weights ? activity.weights : activity.samples;
    for (const auto& [name, count] : kTrafficCounts) sum.*count += part.*count;
  };
  const auto [primary, secondary] = operands(op);
  // As A14 has it for the tiles: each tensor crosses the DRAM bus once an operation, weights once a batch.
  for (const TensorRole role : {primary, secondary}) {
    TensorTraffic part = dram_.read(layer.tensor(role).elements(), layer.tensor(role).nonzeros);
    part.fill_rows = rows(layer.tensor(role).nonzeros);
    add(part, role == TensorRole::kW);
  }
  const std::int64_t nonzeros = result_nonzeros(layer, op);
  TensorTraffic result = dram_.write(result_elements(layer.shape, op), nonzeros);
  result.output_rows = rows(nonzeros);
  add(result, op == Operation::kWeightGrad);
  const auto sum = [&](std::int64_t TensorTraffic::*count) {
    return static_cast<double>(activity.samples.*count) +
           static_cast<double>(activity.weights.*count) / batch_scale;
  };
  activity.dram_cycles = static_cast<std::int64_t>(
      std::ceil(dram_.cycles(sum(&TensorTraffic::dram_read_bytes) + sum(&TensorTraffic::dram_write_bytes),
                             sum(&TensorTraffic::dram_activations)) -
                1e-9));
  return activity;
}

void OuterMemory::apply(const Layer& layer, Operation op, const PeTraffic& traffic, double batch_scale,
                        OpResult& result) const {
  // ASSUMPTION(O4): the baseline is a dense inner-product machine of as many multipliers. Its tiles place the
  // sparser operand on their rows, as the `dense` model does by default.
  const std::vector<LaneProduct> products = lane_products(layer, op, dense_tile_.lanes);
  const std::vector<PlacedProduct> placed =
      place_products(products, choose_scheduled(layer, op, SchedulePolicy::kSparser), dense_tile_);
  OpResult dense;
  dense.cycles = dense.dense_cycles = dense.padding_free_cycles = dense_cycles(placed);
  dense_.apply(layer, op, placed, batch_scale, dense);

  Activity activity = count(layer, op, traffic, batch_scale, result.cycles);
  activity.dense_compute_cycles = dense.activity->compute_cycles;
  activity.dense_bound = dense.activity->bound;
  if (dram_.modelled() && activity.dram_cycles > result.cycles) {
    activity.bound = Bound::kDram;
    result.cycles = activity.dram_cycles;
  }
  result.padding_free_cycles = result.cycles;
  result.dense_cycles = dense.cycles;
  result.activity = activity;
  result.dense_activity = dense.activity;
}

}  // namespace lacuna::outer
