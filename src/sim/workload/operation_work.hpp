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
};

}  // namespace lacuna
