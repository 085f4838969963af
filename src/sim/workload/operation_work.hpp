// Work of a machine: one operation of one recorded layer.
#pragma once

#include <optional>

#include "sim/memory/tensor_passes.hpp"
#include "sim/workload/mac_counts.hpp"
#include "sim/workload/needed_outputs.hpp"
#include "sim/workload/work_memo.hpp"

namespace lacuna {

struct OperationWork {
  const Layer& layer;
  Operation op;
  MacCounts macs;          // counted once, whatever number of machines runs it
  double batch_scale = 1;  // how many times the layer's recorded samples make up the batch
  // Shared work of several machines that run the operation one after another.
  WorkMemo* memo = nullptr;
  // From the machine's Accelerator::plan(); nothing if the operation runs alone.
  std::optional<TensorPasses> passes = std::nullopt;

  OperationWork(const Layer& of, Operation operation, double scale = 1)
      : layer(of), op(operation), macs(count_macs(of, operation)), batch_scale(scale) {}
  // The same operation of a layer that stands in for the one of `other`.
  OperationWork(const Layer& of, const OperationWork& other)
      : layer(of), op(other.op), macs(other.macs), batch_scale(other.batch_scale), passes(other.passes) {}

  // MACs whose result is needed: with outputs=needed.
  MacCounts needed_macs() const {
    return *remember<MacCounts>("needed MACs", [&] { return count_needed_macs(layer, op, macs); });
  }

  // Returns the result of compute(), now or for another machine under the same key. For the fast engine only.
  template <typename Value, typename Compute>
  std::shared_ptr<const Value> remember(const std::string& key, const Compute& compute) const {
    return memo != nullptr ? memo->get<Value>(key, compute) : std::make_shared<const Value>(compute());
  }
};

}  // namespace lacuna
