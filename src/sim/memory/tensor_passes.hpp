// Number of times that an operation's tensors cross the DRAM bus in a batch.
#pragma once

#include <cstdint>

#include "tensor/operation.hpp"

namespace lacuna {

// Once each, unless a memory is too small for what it holds, or holds it still [docs/assumptions.md A14,
// A32].
struct TensorPasses {
  std::int64_t primary = 1;  // of operands(op); 0: it is on the chip already
  std::int64_t secondary = 1;
  std::int64_t output_writes = 1;  // 0: it stays on the chip until its last use
  std::int64_t output_reads = 0;   // sums that were put aside in DRAM
  bool operator==(const TensorPasses&) const = default;
};

using LayerPasses = PerOperation<TensorPasses>;

}  // namespace lacuna
