// AM, BM and CM with a size: how often each tensor of an operation crosses the DRAM bus, and what stays on
// the chip from one operation to the next. docs/models/tensordash-memory.md describes the rules.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/params.hpp"
#include "sim/memory/dram.hpp"
#include "sim/memory/tensor_passes.hpp"
#include "sim/tile/tile_placement.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// The tensor of an operation that stays in its memory, block by block, while the others pass.
enum class LoopOrder {
  kAuto,     // for each operation the one that moves the fewest bytes
  kRows,     // blocks of the row operand in BM: the column operand passes once per block
  kColumns,  // blocks of the column operand in AM, likewise
  kOutputs,  // blocks of the result in CM: the operands pass once per block of the other side's streams
};

// One operation: bytes that its tensors take in BM, AM and CM, and bytes on the DRAM bus for one pass of each
// operand; 0 if it is on the chip.
struct OperationBytes {
  std::int64_t rows = 0, columns = 0, output = 0;
  std::int64_t rows_bus = 0, columns_bus = 0;
};

struct OperandPasses {
  std::int64_t rows = 1, columns = 1;
  bool operator==(const OperandPasses&) const = default;
};

class SizedMemory {
 public:
  // Declared once for every machine of tiles.
  static std::vector<ParamSpec> params();
  // `bank_bytes`: of each of the three memories on the chip, as its banks make it. Throws InputError.
  SizedMemory(const Params& params, std::int64_t bank_bytes, std::int64_t tiles);

  bool used() const { return used_; }
  // Bytes on the chip over what the banks would hold.
  double am_scale() const { return scale(am_); }
  double bm_scale() const { return scale(bm_); }
  double cm_scale() const { return scale(cm_); }

  OperandPasses passes(const OperationBytes& bytes) const;

  // All operations of a trace: forward through its layers, then back, each layer's input gradient before its
  // weight gradient; `operations`: those that run.
  std::vector<LayerPasses> plan(const Trace& trace, const PerOperation<bool>& operations,
                                const TilePlan& tiles, const Dram& dram) const;

  struct Plan {
    std::vector<LayerPasses> passes;
    std::int64_t bus_bytes = 0;  // of the batch
  };
  // The same with the batch in `parts`, each of which goes through all operations before the next.
  Plan plan_parts(const Trace& trace, const PerOperation<bool>& operations, const TilePlan& tiles,
                  const Dram& dram, std::int64_t parts) const;

 private:
  double scale(std::int64_t bytes) const {
    return static_cast<double>(bytes) / static_cast<double>(bank_bytes_);
  }

  bool used_ = false;
  std::int64_t bank_bytes_;  // of the chip
  std::int64_t am_, bm_, cm_;
  LoopOrder order_ = LoopOrder::kAuto;
  static constexpr std::int64_t kWholeBatch = 0, kBestPart = -1;
  std::int64_t samples_ = kWholeBatch;  // at once
};

}  // namespace lacuna
