#include "sim/memory/tensor_traffic.hpp"

#include <cmath>

#include "sim/workload/reference.hpp"

namespace lacuna {

void count_tensor_traffic(const OperationWork& work, const Dram& dram, const StoredRows& stored_rows,
                          Activity& activity, std::vector<DramTensor>& tensors) {
  const Layer& layer = work.layer;
  const TensorPasses passes = work.passes.value_or(TensorPasses{});
  const auto add = [&](const TensorTraffic& part, bool weights, std::int64_t times) {
    (weights ? activity.weights : activity.samples).add(part, times);
  };
  const auto [primary, secondary] = operands(work.op);
  for (const Operand role : {primary, secondary}) {
    const LayerTensor& tensor = layer.tensor(role);
    TensorTraffic part = dram.read(tensor.elements(), tensor.nonzeros);
    part.fill_rows = stored_rows(tensor.elements(), tensor.nonzeros);
    const std::int64_t reads = role == primary ? passes.primary : passes.secondary;
    tensors.push_back(
        {.name = std::string(operand_name(role)), .bytes = part.dram_read_bytes, .reads = reads});
    add(part, layer.shape.once_per_batch(role), reads);
  }
  const std::int64_t elements = result_elements(layer.shape, work.op);
  const std::int64_t nonzeros = result_nonzeros(layer, work.op);
  TensorTraffic result = dram.write(elements, nonzeros);
  result.output_rows = stored_rows(elements, nonzeros);
  tensors.push_back({.name = "output", .bytes = result.dram_write_bytes, .writes = passes.output_writes});
  add(result, layer.shape.once_per_batch(work.op), passes.output_writes);
  const auto sum = [&](std::int64_t TensorTraffic::*count) {
    return static_cast<double>(activity.samples.*count) +
           static_cast<double>(activity.weights.*count) / work.batch_scale;
  };
  const DramMoves moves{.read_bytes = sum(&TensorTraffic::dram_read_bytes),
                        .write_bytes = sum(&TensorTraffic::dram_write_bytes),
                        .activations = sum(&TensorTraffic::dram_activations)};
  const auto whole = [](double count) { return static_cast<std::int64_t>(std::ceil(count - 1e-9)); };
  activity.dram_bytes = whole(moves.read_bytes + moves.write_bytes);
  activity.dram_cycles = whole(dram.cycles(moves));
}

}  // namespace lacuna
