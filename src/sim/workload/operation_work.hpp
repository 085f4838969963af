// What a machine is asked to run: one operation of one recorded layer.
#pragma once

#include "sim/workload/mac_counts.hpp"

namespace lacuna {

struct OperationWork {
  const Layer& layer;
  Operation op;
  MacCounts macs;          // counted once, whatever number of machines runs it
  double batch_scale = 1;  // how many times the layer's recorded samples make up the batch

  OperationWork(const Layer& of, Operation operation, double scale = 1)
      : layer(of), op(operation), macs(count_macs(of, operation)), batch_scale(scale) {}
  // The same operation of a layer that stands in for the one of `other`.
  OperationWork(const Layer& of, const OperationWork& other)
      : layer(of), op(other.op), macs(other.macs), batch_scale(other.batch_scale) {}
};

}  // namespace lacuna
